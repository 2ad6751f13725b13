export {
  appendUntilKnown,
  isStoreOutage,
  OutcomeUnknownError,
  repeatUntilKnown,
  storeBackoffMs,
} from './append-until-known.js';
export { openEmbeddedEventStore } from './embedded/embedded-event-store.js';
export type { EmbeddedEventStore, EmbeddedEventStoreOptions, EmbeddedStats } from './embedded/embedded-event-store.js';
export type { CommitMeasure, CommitMetrics, CommitStats } from './embedded/commit.js';
export type { VerifyOptions, VerifyResult } from './embedded/verification.js';
export {
  EventStoreDamagedError,
  EventStoreRewoundError,
  EventStoreUnavailableError,
  EventTooLargeError,
  noStream,
} from './event-store.js';
export type { AppendResult, EventStore, StoreHealth, Subscription, SubscriptionHandler } from './event-store.js';
export { positionBefore } from './position-before.js';
