import 'reflect-metadata';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventView } from '@countersign/contracts';
import { createEmbeddedMessageBus, PoisonMessageError } from '@countersign/message-bus';
import type { MessageBus } from '@countersign/message-bus';
import { createMemoryLog, eventually } from '@countersign/message-bus/testing';
import type { MemoryLog, MemoryLogEvent } from '@countersign/message-bus/testing';
import { systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { Controller, Logger, Module, UseFilters } from '@nestjs/common';
import type { INestApplicationContext, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Ctx, EventPattern, MessagePattern, Payload } from '@nestjs/microservices';
import type { MicroserviceOptions } from '@nestjs/microservices';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { concat, EMPTY, of, throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import { BusContext, BusExceptionFilter, BusTransportStrategy } from './bus-transport.strategy.js';
import type { BusTransportOptions } from './bus-transport.strategy.js';

const topic = 'countersign.events.v1';

/** The records and the behaviour of a test's handlers. */
const seen: string[] = [];
let behave: (eventId: string) => unknown = () => undefined;

function see(name: string, event: EventView): unknown {
  seen.push(`${name}:${event.eventId}`);
  return behave(event.eventId);
}

@Controller()
@UseFilters(BusExceptionFilter)
class Handlers {
  @EventPattern(['ApprovalResponded'])
  async responded(@Payload() event: EventView, @Ctx() context: BusContext): Promise<void> {
    await see(`responded#${context.getDelivery().attempt}`, event);
    expect(context.getMessage().headers['ce_id']).toBe(event.eventId);
  }

  @EventPattern('ExecutionLapsed')
  lapsed(@Payload() event: EventView): Observable<unknown> {
    return see('lapsed', event) as Observable<unknown>;
  }

  @EventPattern('ToolCallAllowed')
  first(@Payload() event: EventView): unknown {
    return see('first', event);
  }

  @EventPattern('ToolCallAllowed')
  second(@Payload() event: EventView): void {
    seen.push(`second:${event.eventId}`);
  }
}

@Controller()
class Everything {
  @EventPattern('ApprovalResponded')
  responded(@Payload() event: EventView): unknown {
    return see('responded', event);
  }

  @EventPattern('*')
  other(@Payload() event: EventView): unknown {
    return see('other', event);
  }
}

@Controller()
class WithoutFilter {
  @EventPattern('ApprovalResponded')
  responded(@Payload() event: EventView): unknown {
    return see('responded', event);
  }
}

@Controller()
class Answering {
  @MessagePattern('ApprovalResponded')
  answer(): string {
    return 'no handler';
  }
}

function moduleOf(...controllers: Type[]): Type {
  @Module({ controllers })
  class TestModule {}
  return TestModule;
}

describe('the bus transport strategy', () => {
  beforeAll(() => {
    Logger.overrideLogger(false);
  });
  let folder: string;
  let source: MemoryLog;
  let bus: MessageBus;
  let app: INestApplicationContext | undefined;
  beforeEach(async () => {
    seen.length = 0;
    behave = () => undefined;
    folder = await mkdtemp(join(tmpdir(), 'strategy-'));
    source = createMemoryLog();
    bus = createEmbeddedMessageBus({
      folder,
      topics: { [topic]: source },
      clock: systemClock,
      log: createSilentLog(),
    });
  });
  afterEach(async () => {
    await app?.close();
    app = undefined;
    await bus.close();
    await rm(folder, { recursive: true });
  });

  const strategyOf = (options: Partial<BusTransportOptions> = {}): BusTransportStrategy =>
    new BusTransportStrategy({ bus, group: 'g', topics: [topic], retryDelayMsMin: 1, attemptsMax: 3, ...options });
  const start = async (controllers: Type[], options: Partial<BusTransportOptions> = {}) => {
    const strategy = strategyOf(options);
    const microservice: object = { strategy };
    const created = await NestFactory.createMicroservice(moduleOf(...controllers), microservice);
    app = created;
    await created.listen();
    return strategy;
  };
  const record = (id: string, type: MemoryLogEvent['type']): void => {
    const data = type === 'ApprovalResponded' ? { decision: { type: 'approve' } } : {};
    source.append({ id, type, runId: 'run-1', callId: 'tc_1', data });
  };

  it('gives what has no handler of its own to the one for everything', async () => {
    await start([Everything]);
    record('1', 'ApprovalResponded');
    record('2', 'ApprovalExpired');
    record('3', 'ToolCallAllowed');
    await eventually(() => expect(seen).toEqual(['responded:1', 'other:2', 'other:3']));
  });

  it('gives an event to the handlers of its type, and passes the others', async () => {
    await start([Handlers]);
    record('1', 'ApprovalResponded');
    record('2', 'ApprovalExpired');
    record('3', 'ToolCallAllowed');
    await eventually(() => expect(seen).toEqual(['responded#1:1', 'first:3', 'second:3']));
    expect(await bus.deadLetters.list()).toEqual([]);
  });

  it('tries a failed handler again, then parks the message with what was thrown, and goes on', async () => {
    behave = (id) => {
      if (id === 'bad') throw new TypeError('cannot');
    };
    await start([Handlers]);
    record('bad', 'ApprovalResponded');
    record('good', 'ApprovalResponded');
    await eventually(() => expect(seen.at(-1)).toBe('responded#1:good'));
    expect(seen).toEqual(['responded#1:bad', 'responded#2:bad', 'responded#3:bad', 'responded#1:good']);
    expect(await bus.deadLetters.list()).toMatchObject([
      { headers: { ce_id: 'bad' }, code: 'handler-failed', detail: 'TypeError: cannot', attempts: 3 },
    ]);
  });

  it('knows a poisonous message and a transient failure by what was thrown', async () => {
    let failures = 0;
    behave = (id) => {
      if (id === 'poison') throw new PoisonMessageError('unreadable', 'no');
      failures += 1;
      if (failures < 10) throw new RangeError('down');
    };
    await start([Handlers], { isTransient: (error) => error instanceof RangeError, retryDelayMsMax: 2 });
    record('poison', 'ApprovalResponded');
    record('good', 'ApprovalResponded');
    await eventually(() => expect(failures).toBe(10));
    expect(await bus.deadLetters.list()).toMatchObject([{ code: 'unreadable', attempts: 1 }]);
  });

  it('acknowledges only when a stream has ended, and takes its error for a failure', async () => {
    let failures = 0;
    behave = (id) => {
      if (id === 'empty') return EMPTY;
      failures += 1;
      return failures < 3
        ? concat(
            of('begun'),
            throwError(() => new Error('broken off')),
          )
        : of('whole');
    };
    await start([Handlers]);
    record('empty', 'ExecutionLapsed');
    record('stream', 'ExecutionLapsed');
    await eventually(() => expect(failures).toBe(3));
    expect(await bus.deadLetters.list()).toEqual([]);
  });

  it('runs all handlers of a type again when one of them failed', async () => {
    let failures = 0;
    behave = () => {
      failures += 1;
      if (failures < 2) throw new Error('not yet');
    };
    await start([Handlers]);
    record('1', 'ToolCallAllowed');
    await eventually(() => expect(seen).toEqual(['first:1', 'second:1', 'first:1', 'second:1']));
  });

  it('never acknowledges a failure silently: without the filter too it is tried again and parked', async () => {
    behave = () => {
      throw new Error('hidden by Nest');
    };
    await start([WithoutFilter]);
    record('1', 'ApprovalResponded');
    await eventually(async () => expect(await bus.deadLetters.list()).toHaveLength(1));
    expect(seen).toHaveLength(3);
    expect(await bus.deadLetters.list()).toMatchObject([{ detail: 'Error: Internal server error' }]);
  });

  it('handles every kind of thrown value', async () => {
    const thrown: unknown[] = [null, 'text', { message: 'like an error' }];
    behave = (id) => {
      throw thrown[Number(id)];
    };
    await start([Handlers], { attemptsMax: 1 });
    for (const id of ['0', '1', '2']) record(id, 'ApprovalResponded');
    await eventually(async () => expect(await bus.deadLetters.list()).toHaveLength(3));
    const details = (await bus.deadLetters.list()).map(({ detail }) => detail);
    expect(details).toEqual(['null', 'text', 'like an error'].map((text) => `Error: ${text}`));
  });

  it('parks what is not JSON, at once', async () => {
    const breaking: MessageBus = {
      ...bus,
      subscribe: (options) =>
        bus.subscribe({
          ...options,
          onMessage: ({ topic: of, key, headers, offset, partition }, delivery) =>
            options.onMessage({ topic: of, key, headers, offset, partition, value: Buffer.from('{broken') }, delivery),
        }),
    };
    await start([Handlers], { bus: breaking });
    record('1', 'ToolCallAllowed');
    await eventually(async () =>
      expect(await bus.deadLetters.list()).toMatchObject([{ code: 'malformed', attempts: 1 }]),
    );
    expect(seen).toEqual([]);
  });

  it('waits for the running handler when the application closes, and delivers the rest to the next one', async () => {
    let release: () => void = () => undefined;
    behave = (id) => (id === '1' ? new Promise<void>((resolve) => (release = resolve)) : undefined);
    const strategy = await start([Handlers]);
    record('1', 'ApprovalResponded');
    record('2', 'ApprovalResponded');
    await eventually(() => expect(seen).toEqual(['responded#1:1']));
    let closed = false;
    const closing = app?.close().then(() => (closed = true));
    app = undefined;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(closed).toBe(false);
    release();
    await closing;
    expect(strategy.subscription?.status().state).toBe('stopped');
    await start([Handlers]);
    await eventually(() => expect(seen).toEqual(['responded#1:1', 'responded#1:2']));
  });

  it('subscribes to nothing when there is no handler', async () => {
    const strategy = await start([]);
    expect(strategy.subscription).toBeUndefined();
    expect(source.subscriptions()).toBe(0);
  });

  it('refuses to start with a handler that wants to answer, or with a group that is taken', async () => {
    await expect(start([Answering])).rejects.toThrow('@MessagePattern');
    bus.subscribe({ group: 'g', topics: [topic], onMessage: () => undefined });
    await expect(start([Handlers])).rejects.toThrow('already subscribed');
  });

  it('serves a hybrid application, and has no server or events to give away', async () => {
    const hybrid = await NestFactory.create(moduleOf(Handlers), new FastifyAdapter());
    const strategy = strategyOf();
    hybrid.connectMicroservice<MicroserviceOptions>({ strategy });
    app = hybrid;
    await hybrid.startAllMicroservices();
    record('1', 'ApprovalResponded');
    await eventually(() => expect(seen).toEqual(['responded#1:1']));
    expect(() => strategy.on('disconnect')).toThrow('no event');
    expect(() => strategy.unwrap()).toThrow('belongs to its creator');
  });
});
