import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { RequestKeyEntry } from '@countersign/ledger';
import { eventually } from '@countersign/message-bus/testing';
import {
  createClient,
  createWorker,
  gateTool,
  isRefusal,
  type ApprovalView,
  type KafkaOptions,
  type Worker,
  type WorkerOptions,
} from '@countersign/worker-sdk';
import { kafka as overKafka } from '@countersign/worker-sdk/kafka';
import { z } from 'zod';
import { startKafkaBroker } from '../kafka-broker/broker.ts';
import { openLedgerBehindKafka, type LedgerBehindKafka } from './worker-sdk/ledger-behind-kafka.ts';

const keys = {
  ed25519: generateKeyPairSync('ed25519'),
  p256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
};
const entryOf = ({ publicKey }: (typeof keys)['p256'], index: number): RequestKeyEntry => ({
  kid: `key-${index}`,
  publicKey: publicKey.export({ format: 'jwk' }) as RequestKeyEntry['publicKey'],
  principal: 'signer',
  agentIds: ['agent'],
});
const pemOf = (name: keyof typeof keys) => keys[name].privateKey.export({ type: 'pkcs8', format: 'pem' });

let brokers: readonly string[];
let ledger: LedgerBehindKafka;
const ran: string[] = [];
const workers: Worker[] = [];

beforeAll(async () => {
  ({ brokers } = await startKafkaBroker());
  ledger = await openLedgerBehindKafka(brokers, `sdk-${randomUUID()}`, { keys: Object.values(keys).map(entryOf) });
});
afterEach(async () => {
  ran.length = 0;
  await Promise.all(workers.splice(0).map((worker) => worker.close()));
});
afterAll(() => ledger.close());

const deleteFile = gateTool({
  name: 'delete_file',
  inputSchema: z.strictObject({ path: z.string() }),
  needsApproval: ({ path }) => !path.startsWith('/tmp/'),
  execute: ({ path }) => {
    ran.push(path);
    return { deleted: path };
  },
});
const askUser = gateTool({
  name: 'ask_user',
  inputSchema: z.strictObject({ question: z.string() }),
  clientExecuted: true,
});

function newWorker(kafka: Partial<KafkaOptions> = {}, others: Partial<WorkerOptions> = {}): Worker {
  const worker = createWorker({
    kafka: overKafka({ brokers, topicPrefix: ledger.prefix, ...kafka }),
    url: ledger.url,
    token: 'agent-token',
    resolverToken: 'worker-token',
    agentId: 'agent',
    tools: [deleteFile, askUser],
    ...others,
  });
  workers.push(worker);
  return worker;
}

const deletion = (toolCallId: string, path: string) => ({ toolCallId, toolName: 'delete_file', arguments: { path } });
const requestsOf = (runId: string) => ledger.seen.filter(({ key }) => key === runId);
const newRun = (): string => `run-${randomUUID()}`;

it('sequential calls of two requests and two workers of a run take their turn', async () => {
  const [one, other] = [newWorker(), newWorker()];
  const step = { runId: newRun(), batchMode: 'sequential' } as const;
  const first = await one.step({ ...step, toolCalls: [deletion('1', '/tmp/a'), deletion('2', '/etc/b')] });
  const second = await other.step({ ...step, toolCalls: [deletion('3', '/etc/c')] });
  const finish = async (worker: Worker, { state }: typeof first) => {
    for (;;) {
      const outcome = await worker.wait(state);
      if (outcome.stopReason === null) return outcome.results.map(({ status }) => status);
    }
  };
  const finished = Promise.all([finish(one, first), finish(other, second)]);
  await ledger.respondTo(step.runId, { decision: { type: 'approve' } });
  await ledger.respondTo(step.runId, { decision: { type: 'approve' } });
  expect(await finished).toEqual([['succeeded', 'succeeded'], ['succeeded']]);
  expect(ran).toEqual(['/tmp/a', '/etc/b', '/etc/c']);
});

describe('a worker with kafka', () => {
  it('asks by a message, hears the approval, claims over HTTP and runs once what was approved', async () => {
    const runId = newRun();
    const worker = newWorker();
    const outcome = await worker.run(
      { runId, toolCalls: [deletion('1', '/etc/hosts'), deletion('2', '/tmp/x')] },
      {
        onPause: async ({ pendingApprovals }) => {
          expect(ran).toEqual(['/tmp/x']);
          await ledger.respond(pendingApprovals[0]!.approvalId, { decision: { type: 'approve' }, reason: 'seen' });
        },
      },
    );
    expect(outcome).toMatchObject({
      stopReason: null,
      results: [
        { status: 'succeeded', output: { deleted: '/etc/hosts' } },
        { status: 'succeeded', output: { deleted: '/tmp/x' } },
      ],
    });
    expect(ran).toEqual(['/tmp/x', '/etc/hosts']);
    const headers = {
      'content-type': 'application/json',
      ce_specversion: '1.0',
      ce_source: '/agents/agent',
      ce_type: 'ToolCallRequested',
    };
    await eventually(() => expect(requestsOf(runId)).toMatchObject([{ headers }]));
  });

  it('is denied, and told why', async () => {
    const worker = newWorker();
    const { state, pendingApprovals } = await worker.step({ runId: newRun(), toolCalls: [deletion('1', '/a')] });
    const waiting = worker.wait(state);
    await ledger.respond(pendingApprovals[0]!.approvalId, { decision: { type: 'deny' }, reason: 'not today' });
    expect((await waiting).results).toMatchObject([{ status: 'denied', reason: 'not today' }]);
    expect(ran).toEqual([]);
  });

  it('is refused other arguments under the same id, with the code', async () => {
    const runId = newRun();
    const worker = newWorker();
    await worker.step({ runId, toolCalls: [deletion('1', '/a')] });
    const step = worker.step({ runId, toolCalls: [deletion('1', '/b')] });
    await expect(step).rejects.toMatchObject({ name: 'CountersignError', code: 'tool-call-mismatch' });
  });

  it('gets a failure for the one call that the schema of the server refuses, and the others go on', async () => {
    const toolCalls = [deletion('1', '/tmp/x'), { toolCallId: '2', toolName: 'strict', arguments: { of: 'tea' } }];
    const strict = gateTool({
      name: 'strict',
      // The worker's own check does not include the pattern; the server's does.
      inputSchema: { type: 'object', properties: { of: { type: 'string', pattern: '^coffee$' } } },
      execute: () => null,
    });
    const { results } = await newWorker({}, { tools: [deleteFile, strict] }).step({ runId: newRun(), toolCalls });
    expect(results).toMatchObject([
      { status: 'succeeded' },
      { status: 'failed', error: { code: 'invalid-arguments' }, callId: null },
    ]);
  });

  it('gets the same calls for the same step, under the id that it was given', async () => {
    const runId = newRun();
    const step = { runId, requestId: `request-${runId}`, toolCalls: [deletion('1', '/a')] };
    const first = await newWorker().step(step);
    const second = await newWorker().step(step);
    expect(second.state).toEqual(first.state);
    const ids = () => requestsOf(runId).map(({ headers }) => headers['ce_id']);
    await eventually(() => expect(ids()).toEqual([step.requestId, step.requestId]));
  });

  it('waits for a ledger that is away, and says when its patience is over', async () => {
    const runId = newRun();
    const toolCalls = [deletion('1', '/tmp/x')];
    await ledger.stopLedger();
    const impatient = newWorker({ answerWithinMs: 1500 });
    await expect(impatient.step({ runId, toolCalls })).rejects.toMatchObject({ code: 'unreachable' });
    const patient = newWorker().step({ runId, toolCalls });
    await ledger.startLedger();
    expect((await patient).results).toMatchObject([{ status: 'succeeded' }]);
    expect(ran).toEqual(['/tmp/x']);
  });

  it('goes on from its state in another process, with what was decided meanwhile', async () => {
    const first = newWorker();
    const { state, pendingApprovals } = await first.step({ runId: newRun(), toolCalls: [deletion('1', '/a')] });
    await first.close();
    await ledger.respond(pendingApprovals[0]!.approvalId, { decision: { type: 'approve' } });
    const { results } = await newWorker().wait(state);
    expect(results).toMatchObject([{ status: 'succeeded' }]);
  });

  it('runs once although every event comes again', async () => {
    const worker = newWorker();
    const { state, pendingApprovals } = await worker.step({ runId: newRun(), toolCalls: [deletion('1', '/a')] });
    await ledger.relayAgain();
    const waiting = worker.wait(state);
    await ledger.respond(pendingApprovals[0]!.approvalId, { decision: { type: 'approve' } });
    await ledger.relayAgain();
    expect((await waiting).results).toMatchObject([{ status: 'succeeded' }]);
    expect(ran).toEqual(['/a']);
  });

  it('does not believe a forged approval: it looks, and goes on waiting', async () => {
    const runId = newRun();
    const worker = newWorker();
    const { state } = await worker.step({ runId, toolCalls: [deletion('1', '/a')] });
    const approvalId = 'apr_forged';
    await ledger.publishForged('ApprovalResponded', { approvalId, resolution: 'approved' }, runId);
    const outcome = await worker.wait(state, { timeoutMs: 1500 });
    expect(outcome).toMatchObject({ stopReason: 'awaiting_approval', results: [] });
    expect(ran).toEqual([]);
  });

  it('does not believe a forged refusal: it goes on asking the ledger, which carries the request out', async () => {
    const runId = newRun();
    const requestId = `request-${runId}`;
    const forged = { requestId, code: 'forbidden', detail: 'says who?', toolCallIds: ['1'] };
    await ledger.stopLedger();
    const step = { runId, requestId, toolCalls: [deletion('1', '/tmp/x')] };
    const message = expect.stringMatching(
      /the events topic has a refusal of the request \(forbidden: says who\?\)/,
    ) as unknown;
    const impatient = newWorker({ answerWithinMs: 10_000 }).step(step);
    // From the start: its patience may be over before anything else here is.
    const refused = expect(impatient).rejects.toMatchObject({ code: 'unreachable', message });
    const stepping = newWorker().step(step);
    await eventually(() => expect(requestsOf(runId)).toHaveLength(2));
    await ledger.publishForged('RequestRefused', forged, runId);
    await refused;
    await ledger.startLedger();
    expect((await stepping).results).toMatchObject([{ status: 'succeeded' }]);
  });

  it('is not ended by the refusal of another principal that uses the same id', async () => {
    const requestId = `request-${randomUUID()}`;
    const toolCalls = [deletion('1', '/tmp/x')];
    // Signed by the key of a principal that may not speak for this agent.
    const signing = { kid: 'key-0', privateKey: pemOf('ed25519') };
    const other = newWorker({ signing }, { agentId: 'billing' });
    const others = other.step({ runId: newRun(), requestId, toolCalls }).catch(() => undefined);
    const token = 'auditing-agent-token';
    for await (const { data } of createClient({ url: ledger.url, token }).events({ types: ['RequestRefused'] }))
      if (data?.['requestId'] === requestId) break;
    await ledger.stopLedger();
    const paths: string[] = [];
    const noting: typeof fetch = (input, init) => {
      paths.push(new URL(input instanceof Request ? input.url : input).pathname);
      return fetch(input, init);
    };
    const runId = newRun();
    const stepping = newWorker({}, { token, fetch: noting }).step({ runId, requestId, toolCalls });
    const succeeded = expect(stepping).resolves.toMatchObject({ results: [{ status: 'succeeded' }] });
    await eventually(() => expect(requestsOf(runId)).toHaveLength(1));
    await ledger.relayAgain();
    // It has read the refusal in the log, and whose it is.
    await eventually(() => expect(paths).toEqual(expect.arrayContaining(['/v1/events', '/v1/me'])));
    await ledger.startLedger();
    await succeeded;
    await other.close();
    await others;
  });

  it.each([900_000_000_000_000, 9_007_199_254_740_990])(
    'loses at most one read by a forged event that names the position %i, which no log has',
    async (position) => {
      const runId = newRun();
      const worker = newWorker();
      const { state, pendingApprovals } = await worker.step({ runId, toolCalls: [deletion('1', '/a')] });
      const [{ callId, toolCallId, toolName, approvalId }] = pendingApprovals as [ApprovalView];
      const event = { callId, toolCallId, toolName, agentId: 'kafka', revision: 99 };
      await ledger.publishForged('ApprovalResponded', {}, runId, { position, event });
      // The server waits longer than this for a position that it has not reached.
      const looks: unknown[] = [];
      for (let waits = 0; waits < 4; waits += 1)
        looks.push(await worker.wait(state, { timeoutMs: 1500 }).catch((error: unknown) => error));
      expect(looks.filter((look) => isRefusal(look, 'unreachable')).length).toBeLessThanOrEqual(1);
      await ledger.respond(approvalId, { decision: { type: 'approve' } });
      expect((await worker.wait(state, { timeoutMs: 15_000 })).results).toMatchObject([{ status: 'succeeded' }]);
    },
  );

  it('submits what the client did, cancels, and asks again, all by messages', async () => {
    const runId = newRun();
    const worker = newWorker();
    const question = { toolCallId: 'q', toolName: 'ask_user', arguments: { question: 'Name?' } };
    const more = { ...question, toolCallId: 'more' };
    const { clientCalls, state } = await worker.step({ runId, toolCalls: [question, deletion('1', '/a'), more] });
    await worker.submitOutput(clientCalls[0]!.callId, { reply: 'Ada' });
    await expect(worker.submitOutput(clientCalls[0]!.callId, 1)).rejects.toMatchObject({ code: 'already-settled' });
    const deletionId = state.calls[1]!.callId!;
    await expect(worker.submitOutput(deletionId, 1)).rejects.toMatchObject({ code: 'not-client-executed' });
    await worker.requestAgain(state.calls[2]!.callId!, { reason: 'a person should look at it' });
    await worker.cancel(deletionId, 'changed our mind');
    const other = await worker.step({ runId, toolCalls: [deletion('2', '/b')] });
    await worker.cancelRun(runId, 'run over');
    expect((await worker.resume(state)).results).toMatchObject([
      { status: 'succeeded', output: { reply: 'Ada' } },
      { status: 'cancelled', reason: 'changed our mind' },
      { status: 'cancelled', reason: 'run over' },
    ]);
    expect((await worker.resume(other.state)).results).toMatchObject([{ status: 'cancelled', reason: 'run over' }]);
    const types = [
      'ToolCallRequested',
      'ToolOutputSubmitted',
      'ToolOutputSubmitted',
      'ApprovalRequested',
      'ToolCallCancelled',
      'ToolCallRequested',
      'ToolCallCancelled',
    ];
    await eventually(() => expect(requestsOf(runId).map(({ headers }) => headers['ce_type'])).toEqual(types));
  });

  it('says which topic is missing, and how to make it', async () => {
    const step = newWorker({ topicPrefix: 'nowhere' }).step({ runId: newRun(), toolCalls: [deletion('1', '/a')] });
    await expect(step).rejects.toMatchObject({ code: 'not-found', message: expect.stringContaining('topics create') });
  });
});

describe('a signed request', () => {
  it.each([
    ['ed25519', 'key-0'],
    ['p256', 'key-1'],
  ] as const)('is taken, as that of the key (%s)', async (name, kid) => {
    const toolCalls = [deletion('1', '/a')];
    const worker = newWorker({ signing: { kid, privateKey: pemOf(name) } });
    expect(await worker.step({ runId: newRun(), toolCalls })).toMatchObject({ stopReason: 'awaiting_approval' });
  });

  it('is refused when its key speaks for no such agent, and reads that with a token of the same principal', async () => {
    const signing = { kid: 'key-0', privateKey: pemOf('ed25519') };
    const worker = newWorker({ signing }, { token: 'signer-token', agentId: 'somebody-else' });
    const step = worker.step({ runId: newRun(), toolCalls: [deletion('1', '/a')] });
    await expect(step).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('hears from the topic alone that its key is another one: no principal is proven', async () => {
    await Promise.all(
      ['key-9', 'key-1'].map(async (kid) => {
        const worker = newWorker({ signing: { kid, privateKey: pemOf('ed25519') }, answerWithinMs: 10_000 });
        const step = worker.step({ runId: newRun(), toolCalls: [deletion('1', '/a')] });
        const message = expect.stringMatching(/the events topic has a refusal .*unauthenticated/) as unknown;
        await expect(step).rejects.toMatchObject({ code: 'unreachable', message });
      }),
    );
  });

  it('needs a key that can sign', () => {
    const { privateKey } = generateKeyPairSync('x25519');
    expect(() => newWorker({ signing: { kid: 'k', privateKey } })).toThrow(/Ed25519 or P-256/);
  });
});
