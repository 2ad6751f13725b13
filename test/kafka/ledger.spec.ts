import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parseEventMessage } from '@countersign/message-bus';
import { eventually } from '@countersign/message-bus/testing';
import { openLedgerCluster } from './ledger/ledger-cluster.ts';
import type { LedgerCluster } from './ledger/ledger-cluster.ts';

const call = (change: object = {}) => ({
  calls: [{ toolCallId: 'c', toolName: 'delete_file', arguments: { path: '/x' }, needsApproval: true, ...change }],
});

describe('the ledger on Kafka', () => {
  let cluster: LedgerCluster;
  beforeEach(async () => {
    cluster = await openLedgerCluster();
  });
  afterEach(() => cluster.close());

  /** The recorded events by run; events without a run are under ''. */
  const recorded = async (): Promise<Readonly<Record<string, readonly string[]>>> => {
    const events = await cluster.events();
    const byRun = Map.groupBy(events, ({ metadata }) => metadata.runId ?? '');
    return Object.fromEntries([...byRun].map(([runId, ofRun]) => [runId, ofRun.map(({ type }) => type)]));
  };
  const asked = ['ToolCallRequested', 'ApprovalRequested'];

  it('records a request once, though it is killed before it has heard that it was recorded', async () => {
    const first = await cluster.startLedger();
    await cluster.request('ToolCallRequested', 'run-0', call(), 'r-0');
    await eventually(async () => expect(await recorded()).toEqual({ 'run-0': asked }));
    const dead = first.dieAfterNextWrite();
    await cluster.request('ToolCallRequested', 'run-1', call(), 'r-1');
    await dead;
    await cluster.request('ToolCallRequested', 'run-2', call(), 'r-2');
    const second = await cluster.startLedger();
    await eventually(async () => {
      expect(await recorded()).toEqual({ 'run-0': asked, 'run-1': asked, 'run-2': asked });
      expect(second.begun).toEqual(expect.arrayContaining(['r-1', 'r-2']));
    });
  });

  it('answers a refused request on the events topic, by the relay, under its run', async () => {
    const heard: unknown[] = [];
    cluster.kafka.bus.subscribe({
      group: 'worker',
      topics: [cluster.kafka.topics.names.events],
      types: ['RequestRefused'],
      onMessage: (message) => void heard.push({ key: message.key, event: parseEventMessage(message) }),
    });
    await cluster.startLedger();
    await cluster.request('ToolCallRequested', 'run-1', call(), 'r-1');
    await cluster.request('ToolCallRequested', 'run-1', call({ arguments: { path: '/y' } }), 'r-2');
    await cluster.request('ApprovalResponded', 'run-1', { decision: { type: 'approve' } }, 'r-3');
    await cluster.request('ToolCallRequested', 'run-1', { calls: 'none' }, 'r-4');
    const refusal = (key: string | null, requestId: string, code: string, toolCallIds: readonly string[]) => ({
      key,
      event: expect.objectContaining({ data: expect.objectContaining({ requestId, code, toolCallIds }) as unknown }),
    });
    await eventually(async () => {
      // The keys differ, so the order does too.
      expect(heard).toHaveLength(2);
      expect(heard).toContainEqual(refusal('run-1', 'r-2', 'tool-call-mismatch', ['c']));
      expect(heard).toContainEqual(refusal(null, 'r-3', 'forbidden', []));
      const letters = await cluster.kafka.bus.deadLetters.list();
      expect(letters).toMatchObject([{ code: 'invalid-request', headers: { ce_id: 'r-4' } }]);
    });
    expect((await recorded())['run-1']).toEqual([...asked, 'RequestRefused']);
  });

  it('bears that the new owner of a partition repeats what the old one is still about', async () => {
    const runs = Array.from({ length: 8 }, (_, n) => `run-${n}`);
    const slow = await cluster.startLedger();
    await Promise.all(runs.map((runId) => cluster.request('ToolCallRequested', runId, call())));
    await eventually(async () => expect(Object.keys(await recorded())).toHaveLength(8));
    slow.holdWrites();
    const ids = await Promise.all(
      runs.map(async (runId, n) => {
        const id = `again-${runId}`;
        const next = { calls: [{ ...call().calls[0], toolCallId: 'd' }] };
        if (n % 4 === 0) await cluster.request('ToolCallRequested', runId, next, id);
        if (n % 4 === 1) await cluster.request('ToolCallCancelled', runId, { reason: 'the user left' }, id);
        if (n % 4 === 2) await cluster.request('ToolCallRequested', runId, call({ toolName: 'other' }), id);
        if (n % 4 === 3) await cluster.request('ApprovalRequested', runId, { toolCallId: 'c', reason: 'why' }, id);
        return id;
      }),
    );
    await eventually(() => expect(slow.begun).toEqual(expect.arrayContaining(ids)));
    const expected = [
      [...asked, ...asked],
      [...asked, 'RunCancelled', 'ToolCallCancelled'],
      [...asked, 'RequestRefused'],
      [...asked, 'ApprovalDescribed'],
    ];
    const fast = await cluster.startLedger();
    // The partitions that it got: all of their runs are repeated, and done.
    await eventually(async () => {
      const repeated = ids.filter((id) => fast.begun.includes(id));
      expect(repeated.length).toBeGreaterThan(0);
      const done = await recorded();
      for (const id of repeated) {
        const n = ids.indexOf(id);
        expect(done[runs[n]!]).toEqual(expected[n % 4]);
      }
    });
    slow.releaseWrites();
    await eventually(async () => {
      const done = await recorded();
      expect(runs.map((runId) => done[runId])).toEqual(runs.map((_, n) => expected[n % 4]));
    });
    await slow.close();
    // All earlier messages there have ended by now.
    expect((await cluster.events()).length).toBe(expected.flat().length * 2);
  });
});

describe('the ledger on Kafka under quotas', () => {
  it('answers a refused question on the events topic, with the code and the time to wait', async () => {
    const cluster = await openLedgerCluster({ policy: 'version: 1\nquotas: { pendingPerAgent: 1 }' });
    try {
      const heard: unknown[] = [];
      cluster.kafka.bus.subscribe({
        group: 'worker',
        topics: [cluster.kafka.topics.names.events],
        types: ['RequestRefused'],
        onMessage: (message) => void heard.push(parseEventMessage(message).data),
      });
      await cluster.startLedger();
      await cluster.request('ToolCallRequested', 'run-1', call(), 'r-1');
      await cluster.request('ToolCallRequested', 'run-1', call({ toolCallId: 'd' }), 'r-2');
      const refused = { requestId: 'r-2', code: 'too-many-requests', toolCallIds: ['d'], retryAfterMs: 60_000 };
      await eventually(async () => expect(heard).toEqual([expect.objectContaining(refused)]));
    } finally {
      await cluster.close();
    }
  });
});
