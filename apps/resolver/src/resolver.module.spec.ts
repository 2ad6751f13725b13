import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEmbeddedMessageBus } from '@countersign/message-bus';
import type { MessageBus } from '@countersign/message-bus';
import { createMemoryLog, eventually } from '@countersign/message-bus/testing';
import { systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { ExecutionsUnavailableError } from './executions.js';
import type { Resolver } from './resolver.js';
import { createResolverApp } from './resolver-app.js';

describe('the resolver in a Nest application', () => {
  it('gets its events, again when the ledger did not answer, and is told when the application closes', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'resolver-'));
    const [topic, source] = ['countersign.events.v1', createMemoryLog()];
    const [clock, log] = [systemClock, createSilentLog()];
    const real = createEmbeddedMessageBus({ folder, topics: { [topic]: source }, clock, log });
    const hurry = { attemptsMax: 2, retryDelayMsMin: 1, retryDelayMsMax: 1 };
    const bus: MessageBus = { ...real, subscribe: (options) => real.subscribe({ ...options, ...hurry }) };
    const seen: string[] = [];
    let signal: AbortSignal | undefined;
    const resolver: Resolver = {
      handle: async (event, given) => {
        seen.push(`${event.type} ${event.callId ?? ''}`);
        signal = given;
        if (seen.length < 9) throw new ExecutionsUnavailableError('down');
      },
      status: () => ({ running: 0, waiting: 0 }),
      stop: async () => void seen.push('stopped'),
    };
    const app = await createResolverApp({ resolver, bus, topic, log });
    await app.listen();
    source.append({ id: '4d0f', type: 'ToolCallRequested', runId: 'r', callId: 'tc_1' });
    source.append({ id: '4d0e', type: 'ExecutionLapsed', runId: 'r', callId: 'tc_1' });
    await eventually(() => expect(seen).toEqual(Array.from({ length: 9 }, () => 'ExecutionLapsed tc_1')));
    expect(await bus.deadLetters.list()).toEqual([]);
    expect(signal?.aborted).toBe(false);
    await app.close();
    expect(signal?.aborted).toBe(true);
    expect(seen.at(-1)).toBe('stopped');
    await bus.close();
    await rm(folder, { recursive: true });
  });
});
