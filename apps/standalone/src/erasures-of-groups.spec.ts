import { join } from 'node:path';
import { readable } from '@countersign/event-store/testing';
import { requestToolCalls } from '@countersign/commands';
import type { JsonObject, RequestedCall } from '@countersign/contracts';
import { deriveCallId } from '@countersign/contracts';
import { createIdempotencyStore } from '@countersign/gateway';
import { PoisonMessageError, topicNames } from '@countersign/message-bus';
import { actor, callIdOf, callOf, prepareErasing, secret, subject } from './testing/erasing.js';

const { ids, request, run, erase, viewOf, filesWith, folder, stores } = prepareErasing();

const other = { labels: { subject: 'customer-7' } };
const requestAll = (runId: string, calls: readonly RequestedCall[], batchMode?: 'all-or-nothing') => {
  const batch = batchMode === undefined ? {} : { batchId: 'batch-1', batchMode };
  return requestToolCalls(stores().commands, actor, { runId, calls: [...calls], ...batch }, ids.uuid());
};
const erasedArguments = { password: '[erased]' };
const keptArguments = { password: secret };

describe('a batch of calls of several subjects', () => {
  it('loses the values of the erased subject alone', async () => {
    await requestAll('run-1', [callOf('a'), callOf('b', other), callOf('c')]);
    for (const toolCallId of ['a', 'b', 'c']) await run(toolCallId);
    expect(await erase()).toMatchObject({ status: 'erased', calls: 2, values: 4 });
    expect(['a', 'b', 'c'].map((id) => viewOf(id).arguments)).toEqual([
      erasedArguments,
      keptArguments,
      erasedArguments,
    ]);
    expect(viewOf('b').output).toEqual({ token: secret });
  });

  it('is cancelled as a whole by a forced erasure of one of them, when it is all or nothing', async () => {
    const asked = { needsApproval: true };
    await requestAll('run-1', [callOf('a', asked), callOf('b', { ...other, ...asked })], 'all-or-nothing');
    expect(await erase()).toMatchObject({ code: 'calls-open', extra: { openCalls: [callIdOf('a')] } });
    expect(await erase({ force: true })).toMatchObject({ status: 'erased', calls: 1, values: 1 });
    expect(['a', 'b'].map((id) => viewOf(id).state)).toEqual(['cancelled', 'cancelled']);
    expect(['a', 'b'].map((id) => viewOf(id).arguments)).toEqual([erasedArguments, keptArguments]);
  });
});

describe('a nested call', () => {
  const innerId = deriveCallId('default', 'run-2', 'inner');
  const inner = () => stores().readModel.toolCall('default', innerId)?.request.arguments;
  const nest = async (change: Partial<RequestedCall>): Promise<void> => {
    await request('outer');
    await requestAll('run-2', [callOf('inner', { parentCallId: callIdOf('outer'), ...change })]);
    expect(stores().readModel.toolCall('default', innerId)?.request.chain).toHaveLength(1);
  };

  it('is erased with the call around it when both have the same label', async () => {
    await nest({});
    expect(await erase({ force: true })).toMatchObject({ status: 'erased', calls: 2, values: 2 });
    expect([viewOf('outer').arguments, inner()]).toEqual([erasedArguments, erasedArguments]);
  });

  it('without a label belongs to its own run, and is erased with that', async () => {
    await nest({ labels: {} });
    expect(await erase({ force: true })).toMatchObject({ status: 'erased', calls: 1 });
    expect([viewOf('outer').arguments, inner()]).toEqual([erasedArguments, keptArguments]);
    expect(await erase({ subject: 'run:run-2', force: true })).toMatchObject({ status: 'erased', calls: 1 });
    expect(inner()).toEqual(erasedArguments);
  });
});

it('leaves no byte of a value or of its salt in any file', async () => {
  const idempotency = createIdempotencyStore(join(folder(), 'idempotency.db'));
  const bodyHash = stores().vault.requestsKey.hash()(Buffer.from(secret));
  idempotency.save({ scope: 'scope', owner: 'owner', bodyHash, status: 201, position: 1, storedAtMs: 0 });
  idempotency.close();
  await request('a', { arguments: { password: secret, note: `the text ${subject}` } });
  await run('a');
  const events = readable(await stores().store.readAll(0, 100));
  const salts = events.flatMap(({ data }) => ((data as JsonObject)['salt'] as string | undefined) ?? []);
  expect(salts).toHaveLength(1);
  const forms = [secret, ...salts].flatMap((text) => [
    Buffer.from(text),
    Buffer.from(Buffer.from(text).toString('base64').slice(0, -2)),
    Buffer.from(Buffer.from(text).toString('hex')),
    Buffer.from(text, 'utf16le'),
  ]);
  const places = (): readonly string[] => forms.flatMap(filesWith);
  const keptPlaces = (): readonly string[] => filesWith(bodyHash);
  stores().readModel.flush();
  expect([places(), keptPlaces().length > 0]).toEqual([[], true]);
  await erase();
  stores().readModel.flush();
  expect([places(), keptPlaces()]).toEqual([[], []]);
  await stores().close();
  expect([places(), keptPlaces()]).toEqual([[], []]);
});

it('finds no value in a message that was parked', async () => {
  const { bus } = stores();
  const parked = Promise.withResolvers<undefined>();
  const subscription = bus.subscribe({
    group: 'picky',
    topics: [topicNames().events],
    types: ['ToolCallRequested'],
    onMessage: () => {
      parked.resolve(undefined);
      throw new PoisonMessageError('malformed', 'is not liked');
    },
  });
  await request('a');
  await parked.promise;
  await subscription.stop();
  const letters = await bus.deadLetters.list();
  expect(letters.map(({ value }) => Buffer.from(value).toString())).toContainEqual(expect.stringContaining('[masked '));
  expect(filesWith(secret)).toEqual([]);
});
