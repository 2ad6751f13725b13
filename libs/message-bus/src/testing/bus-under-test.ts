import type { EventType } from '@countersign/contracts';
import type { MessageBus, SubscribeOptions, Subscription } from '../message-bus.js';

/** A message of the suite: an event in the form of the events topic, with this id, type and run. */
export interface ContractMessage {
  readonly id: string;
  readonly key: string | null;
  readonly type?: EventType;
}

/** An empty bus, and a test's control over it. */
export interface MessageBusHarness {
  readonly topic: string;
  /** The bus of the running process. */
  readonly bus: () => MessageBus;
  /** Puts messages on the topic, in order. */
  readonly publish: (messages: readonly ContractMessage[]) => Promise<void>;
  /** Closes the bus and opens that of the next process. */
  readonly restart: () => Promise<void>;
  /** Kills the process: nothing more is stopped or stored. Opens the bus of the next process. */
  readonly crash: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** The fixtures that the parts of the suite share. */
export interface BusUnderTest {
  readonly harness: () => MessageBusHarness;
  /** Subscribes the group `resolvers` with short pauses between attempts. */
  readonly subscribe: (consumer: Pick<SubscribeOptions, 'onMessage'> & Partial<SubscribeOptions>) => Subscription;
  /** Repeats a check until it passes, within the limit of a delivery. */
  readonly eventually: (check: () => void | Promise<void>) => Promise<void>;
}
