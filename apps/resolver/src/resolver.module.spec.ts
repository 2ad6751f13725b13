import 'reflect-metadata';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEmbeddedMessageBus, parseEventMessage } from '@countersign/message-bus';
import { createMemoryLog, eventually } from '@countersign/message-bus/testing';
import { systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { BusTransportStrategy } from '@countersign/shell';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExecutionsUnavailableError } from './executions.js';
import { isTransientFailure } from './resolver.js';
import type { Resolver } from './resolver.js';
import { ResolverModule } from './resolver.module.js';

describe('the resolver in a Nest application', () => {
  it('gets its events, again when the ledger did not answer, and is told when the application closes', async () => {
    Logger.overrideLogger(false);
    const folder = await mkdtemp(join(tmpdir(), 'resolver-'));
    const [topic, source] = ['countersign.events.v1', createMemoryLog()];
    const [clock, log] = [systemClock, createSilentLog()];
    const bus = createEmbeddedMessageBus({ folder, topics: { [topic]: source }, clock, log });
    const seen: string[] = [];
    let signal: AbortSignal | undefined;
    const resolver: Resolver = {
      handle: async (event, given) => {
        seen.push(`${event.type} ${event.callId ?? ''}`);
        signal = given;
        if (seen.length < 9) throw new ExecutionsUnavailableError('down');
      },
      consume: () => undefined,
      status: () => ({ running: 0, waiting: 0 }),
      stop: async () => undefined,
    };
    const strategy = new BusTransportStrategy({
      ...{ bus, group: 'resolver', topics: [topic], parse: parseEventMessage, isTransient: isTransientFailure },
      ...{ attemptsMax: 2, retryDelayMsMin: 1, retryDelayMsMax: 1 },
    });
    const microservice: object = { strategy };
    const app = await NestFactory.createMicroservice(ResolverModule.of(resolver), microservice);
    await app.listen();
    source.append({ id: '4d0f', type: 'ToolCallRequested', runId: 'r', callId: 'tc_1' });
    source.append({ id: '4d0e', type: 'ExecutionLapsed', runId: 'r', callId: 'tc_1' });
    await eventually(() => expect(seen).toEqual(Array.from({ length: 9 }, () => 'ExecutionLapsed tc_1')));
    expect(await bus.deadLetters.list()).toEqual([]);
    expect(signal?.aborted).toBe(false);
    await app.close();
    expect(signal?.aborted).toBe(true);
    await bus.close();
    await rm(folder, { recursive: true });
  });
});
