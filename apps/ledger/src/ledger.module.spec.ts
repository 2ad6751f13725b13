import 'reflect-metadata';
import { PoisonMessageError } from '@countersign/message-bus';
import type { MessageBus, SubscribeOptions } from '@countersign/message-bus';
import { BusTransportStrategy } from '@countersign/shell';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { isTransientFailure } from './ledger.js';
import { leaveUnread, LedgerModule } from './ledger.module.js';
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
  beforeAll(() => {
    Logger.overrideLogger(false);
  });

  it('gets messages of every type with their bytes unchanged, and passes its failures to the bus', async () => {
    const world = await openLedgerWorld();
    const { bus, consumers } = createHandBus();
    const strategy = new BusTransportStrategy({
      bus,
      group: 'ledger',
      topics: ['requests'],
      parse: leaveUnread,
      isTransient: isTransientFailure,
    });
    const app = await NestFactory.createMicroservice(LedgerModule.of(world.ledger), { strategy } as object);
    await app.listen();
    const [consumer] = consumers;
    expect(consumer?.types).toBeUndefined();
    const signal = new AbortController().signal;
    const hand = async (...given: Parameters<typeof requestMessage>): Promise<void> =>
      consumer?.onMessage(requestMessage(...given), { attempt: 1, signal });
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
    expect(isTransientFailure(reason)).toBe(true);
    await app.close();
    await world.close();
  });

  it('consumes a bus by itself', async () => {
    const world = await openLedgerWorld();
    const { bus, consumers } = createHandBus();
    world.ledger.consume(bus, { topic: 'requests', attemptsMax: 7 });
    expect(consumers).toMatchObject([{ group: 'ledger', topics: ['requests'], concurrency: 64, attemptsMax: 7 }]);
    expect(consumers[0]?.types).toBeUndefined();
    await world.close();
  });
});
