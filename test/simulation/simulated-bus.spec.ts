import { topicNames, toEventMessage } from '@countersign/message-bus';
import { messageBusContract } from '@countersign/message-bus/testing';
import type { ContractMessage } from '@countersign/message-bus/testing';
import type { RecordedEvent } from '@countersign/contracts';
import { systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { createBroker } from './world/broker.ts';
import { createSimulatedMessageBus, createSimulatedPublisher } from './world/bus-client.ts';
import type { BusHost } from './world/bus-client.ts';

/** A process without faults, on the real clock: it can only be killed. */
function startHost(): BusHost & { readonly kill: () => void } {
  const clock = systemClock;
  const onDeath: (() => void)[] = [];
  let isAlive = true;
  return {
    clock: {
      ...clock,
      setTimer: (delayMs, fn) =>
        clock.setTimer(delayMs, () => {
          if (isAlive) fn();
        }),
    },
    log: createSilentLog(),
    isAlive: () => isAlive,
    enter: () => (isAlive ? Promise.resolve() : new Promise(() => undefined)),
    travel: () => Promise.resolve(),
    onDeath: (fn) => onDeath.push(fn),
    kill: () => {
      isAlive = false;
      for (const fn of onDeath) fn();
    },
  };
}

function toMessage({ id, key, type = 'ToolCallAllowed' }: ContractMessage) {
  const metadata = { tenant: 'default', callId: null, runId: key, schemaVersion: 1, commandId: `command-${id}` };
  const place = { stream: 'toolCall-none', revision: 0, position: 1, recordedAt: '2030-01-01T00:00:00.000Z' };
  return toEventMessage({ eventId: id, type, data: {}, metadata, ...place } as unknown as RecordedEvent);
}

// With its faults off it is a bus like the others: that is what makes what the simulation finds believable.
messageBusContract('simulated', async () => {
  const topic = topicNames().events;
  const broker = createBroker(systemClock, [topic], 3);
  let host = startHost();
  let bus = createSimulatedMessageBus(broker, host);
  const next = (): void => {
    host = startHost();
    bus = createSimulatedMessageBus(broker, host);
  };
  return {
    topic,
    bus: () => bus,
    publish: (messages) => createSimulatedPublisher(broker).publish(topic, messages.map(toMessage)),
    restart: async () => {
      await bus.close();
      next();
    },
    crash: async () => {
      host.kill();
      next();
    },
    close: () => bus.close(),
  };
});
