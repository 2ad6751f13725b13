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
  KeysUnavailableError,
  noStream,
  soundReadsOf,
} from './event-store.js';
export type {
  AppendOptions,
  AppendResult,
  EventStore,
  SoundReads,
  StoreHealth,
  Subscription,
  SubscriptionHandler,
} from './event-store.js';
export { createDecidingClock } from './deciding-clock.js';
export { recordStreamPrefix } from './record-streams.js';
export type { Kept, KeptRecord, RecordStreams, StreamRecord } from './record-streams.js';
export { createOwnStoreClock, skewMsMax } from './store-clock.js';
export type { StoreClock } from './store-clock.js';
export { createUnreadableWatch } from './unreadable-watch.js';
export type { Forbidding, UnreadableWatch } from './unreadable-watch.js';
export { findLostKeys, LostKeysError, refuseLostKeys } from './sealed/lost-keys.js';
export type { LostKeys } from './sealed/lost-keys.js';
export { copyEvents, copyLog, cutLog } from './embedded/cut-log.js';
export { lockFolder } from './embedded/folder-lock.js';
export type { FolderLock } from './embedded/folder-lock.js';
export type { CopyKeys } from './sealed/copy-keys.js';
export { openSubjectKeys } from './sealed/keys-file.js';
export type { FileKeys } from './sealed/keys-file.js';
export { rotateRootKey } from './sealed/rotate-root-key.js';
export type { Rotation } from './sealed/rotate-root-key.js';
export type { RootPlace } from './sealed/root-file.js';
export { RootKeyError } from './sealed/root-key.js';
export { createRequestHash, openRequestsKey } from './sealed/request-hash.js';
export type { RequestHash, RequestsKey } from './sealed/request-hash.js';
export { createSealedStore } from './sealed/sealed-store.js';
export type { SealedStore } from './sealed/sealed-store.js';
export { createSealedTexts } from './sealed/sealed-texts.js';
export type { SealedTexts } from './sealed/sealed-texts.js';
export { requestsOwner } from './sealed/subject-keys.js';
export type { ErasureKeys, FindKey, StoreKeys, SubjectKey, SubjectKeys } from './sealed/subject-keys.js';
