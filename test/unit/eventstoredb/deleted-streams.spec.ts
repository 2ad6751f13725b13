import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { claim, createWriteSide, findCall, requestApproval, requestToolCalls } from '@countersign/commands';
import type { Actor, CommandPorts, Result } from '@countersign/commands';
import { deriveCallId, toolCallStream } from '@countersign/contracts';
import type { LogEvent } from '@countersign/contracts';
import { noStream } from '@countersign/event-store';
import { sampleEvents, sampleStream } from '@countersign/event-store/testing';
import { createSystemIds } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import type { TestServer } from '../../eventstoredb-server/server.ts';
import { deleteSoftly } from '../../eventstoredb-server/users.ts';
import { cleanUpAfterEach, openReadyStore, patient, startServer, until } from './harness.js';

cleanUpAfterEach();

/** Metadata of a stream, as an admin writes them. */
function setMetadata({ log }: TestServer, stream: string, metadata: object): void {
  const data = Buffer.from(JSON.stringify(metadata));
  const event = { id: randomUUID(), type: '$metadata', contentType: 'application/json', data, metadata: data };
  log.append(`$$${stream}`, 'any', [event], { createdMs: Date.now(), recognisesRepeats: true });
}

async function world() {
  const server = await startServer();
  const { store } = await openReadyStore(server.url, patient);
  const [stream, other] = [toolCallStream(`tc_${'a'.repeat(26)}`), sampleStream()];
  await store.append(stream, noStream, sampleEvents(3));
  const seen: LogEvent[] = [];
  const errors: unknown[] = [];
  store.subscribe(0, { onEvents: (events) => void seen.push(...events), onError: (error) => errors.push(error) });
  await until(() => seen.length === 3, 'the events');
  return { server, store, stream, other, seen, errors };
}

describe("a call's stream that an admin", () => {
  it('deleted softly is read as missing its beginning once something is appended, which succeeds', async () => {
    const { server, store, stream } = await world();
    deleteSoftly(server.log, stream, Date.now());
    expect(await store.readStream(stream)).toEqual([]);
    expect(await store.append(stream, 2, sampleEvents(1))).toMatchObject({ status: 'committed', revision: 3 });
    const [gap, ...rest] = await store.readStream(stream);
    expect(gap).toMatchObject({ unreadable: expect.stringContaining('revision 0 of the stream is missing') });
    expect(rest.map(({ revision }) => revision)).toEqual([3]);
  });

  it('limited to a number of events is read as missing its beginning', async () => {
    const { server, store, stream } = await world();
    setMetadata(server, stream, { $maxCount: 2 });
    const [gap, ...rest] = await store.readStream(stream);
    expect(gap).toMatchObject({ revision: 0, unreadable: expect.stringContaining('is missing') });
    expect(rest.map(({ revision }) => revision)).toEqual([1, 2]);
  });

  it('deleted for good is set aside, and every other stream goes on', async () => {
    const { server, store, stream, other, seen, errors } = await world();
    server.log.tombstone(stream, Date.now());
    await store.append(other, noStream, sampleEvents(1));
    await until(() => seen.length === 5, 'the end of the stream, and the other one');
    expect(seen.slice(3)).toMatchObject([
      { stream, type: '$streamDeleted', unreadable: expect.stringContaining('the stream was deleted') },
      { stream: other, revision: 0 },
    ]);
    expect(errors).toEqual([]);
    expect(await store.readStream(stream)).toMatchObject([{ stream, unreadable: expect.any(String) }]);
    expect(await store.append(stream, 2, sampleEvents(1))).toMatchObject({ status: 'conflict' });
    expect(await store.readAll(0, 10)).toHaveLength(5);
  });
});

const actor: Actor = {
  ...{ tenant: 'default', principal: 'agent', roles: new Set(['agent', 'resolver'] as const), groups: [] },
  ...{ agentIds: ['*'], via: 'api', assurance: 'medium' },
};

describe('a call whose stream an admin deleted softly is refused as unreadable, at once,', () => {
  const body = (...toolCallIds: readonly string[]) => ({
    runId: 'run-1',
    calls: toolCallIds.map((toolCallId) => ({ toolName: 'pay', toolCallId, arguments: {}, needsApproval: true })),
  });
  const callId = deriveCallId('default', 'run-1', 'a');
  const request = (commands: CommandPorts, commandId: string, reason?: string) =>
    requestToolCalls(commands, actor, { ...body('a'), ...(reason !== undefined && { reason }) }, commandId);
  const codeFrom = async (result: Promise<Result<unknown>>): Promise<string> => {
    const outcome = await result.catch((error: unknown) => error as Result<unknown> & { readonly status: 'refused' });
    return 'refusal' in outcome ? outcome.refusal.code : 'done';
  };

  async function deleted(writeOnly = false) {
    const server = await startServer();
    const open = async () => {
      const { store } = await openReadyStore(server.url, { ...patient, writeOnly });
      const ports = { store, tools: { find: () => undefined }, ids: createSystemIds(), log: createSilentLog() };
      return createWriteSide({ ...ports, writeOnly });
    };
    const before = await open();
    expect(await codeFrom(request(before, 'first'))).toBe('done');
    deleteSoftly(server.log, toolCallStream(callId), Date.now());
    return { server, before, fresh: await open() };
  }

  it.each([
    ['a repeat of its request', (commands: CommandPorts) => request(commands, 'first')],
    ['the same request again', (commands: CommandPorts) => request(commands, 'second')],
    ['a new approval request', (commands: CommandPorts) => requestApproval(commands, actor, callId, {}, 'ask')],
    ['a claim', (commands: CommandPorts) => claim(commands, actor, callId, { resolverId: 'w' }, 'claim')],
    ['a look', (commands: CommandPorts) => findCall(commands, 'default', callId) as Promise<never>],
  ])('%s', async (_, work) => {
    const { server, fresh } = await deleted();
    server.calls.splice(0);
    expect(await codeFrom(work(fresh))).toBe('unreadable');
    expect(await codeFrom(work(fresh))).toBe('unreadable');
    const looks = server.calls.filter((call) => call.includes(toolCallStream(callId)));
    // With retries there are more than thirty.
    expect(looks.length).toBeLessThanOrEqual(20);
  });

  it('also by a process that has it in memory, from its next look', async () => {
    const { before } = await deleted();
    expect(await codeFrom(findCall(before, 'default', callId) as Promise<never>)).toBe('unreadable');
  });

  it('also by a process that records without a read', async () => {
    const { fresh } = await deleted(true);
    expect(await codeFrom(request(fresh, 'second'))).toBe('unreadable');
  });

  it('and a call that never was is not found', async () => {
    const { fresh } = await deleted();
    const other = deriveCallId('default', 'run-1', 'b');
    expect(await codeFrom(requestApproval(fresh, actor, other, {}, 'ask'))).toBe('not-found');
  });
});
