import { PoisonMessageError } from '@countersign/message-bus';
import type { MessageBus, SubscribeOptions } from '@countersign/message-bus';
import { createSilentLog } from '@countersign/runtime/testing';
import { createLedgerApp } from './ledger-app.js';
import { callOf, openLedgerWorld, requestMessage } from './testing/ledger-world.js';

const idle = { status: () => ({ state: 'running', inFlight: 0 }) as const, stop: async () => undefined };

/** A bus for tests. */
function createHandBus() {
  const consumers: SubscribeOptions[] = [];
  const bus: MessageBus = {
    system: 'kafka',
    subscribe: (options) => {
      consumers.push(options);
      return idle;
    },
    deadLetters: { list: async () => [], show: async () => undefined, replay: async () => false },
    close: async () => undefined,
  };
  return { bus, consumers };
}

describe('the ledger in a Nest application', () => {
  it('gets messages of every type with their bytes unchanged, and passes its failures to the bus', async () => {
    const world = await openLedgerWorld();
    const { bus, consumers } = createHandBus();
    const app = await createLedgerApp({ ledger: world.ledger, bus, topic: 'requests', log: createSilentLog() });
    await app.listen();
    const [consumer] = consumers;
    expect(consumers).toMatchObject([{ group: 'ledger', topics: ['requests'], concurrency: 64 }]);
    expect(consumer?.types).toBeUndefined();
    const signal = new AbortController().signal;
    const hand = async (...given: Parameters<typeof requestMessage>): Promise<void> =>
      consumer?.onMessage(requestMessage(...given), { attempt: 1, signal, isBehind: () => false });
    await hand('ToolCallRequested', { runId: 'run-1', calls: [callOf('a')] });
    await hand('ApprovalResponded', {});
    expect(await world.types()).toEqual(['ToolCallRequested', 'ApprovalRequested', 'RequestRefused']);
    await expect(hand('ToolCallRequested', '{broken')).rejects.toBeInstanceOf(PoisonMessageError);
    await expect(hand('', {}, { ce_type: undefined })).rejects.toBeInstanceOf(PoisonMessageError);
    world.failAppends(1);
    const failed = hand('ToolCallRequested', { runId: 'run-2', calls: [callOf('a')] });
    const reason: unknown = await failed.then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(consumer?.isTransient?.(reason)).toBe(true);
    expect(consumer?.isTransient?.(new TypeError('a fault of the message'))).toBe(false);
    await app.close();
    await world.close();
  });
});
