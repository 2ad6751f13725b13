export { appendUntilKnown, isStoreOutage, OutcomeUnknownError } from './append-until-known.js';
export type { Decider, Decision } from './decider.js';
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
export type { FoldedStream } from './folded-stream.js';
export { createCommandHandler } from './handle-command.js';
export type {
  CommandHandler,
  CommandHandlerOptions,
  CommandMeta,
  CommandOrRefusal,
  CommandResult,
  ToCommand,
} from './handle-command.js';
