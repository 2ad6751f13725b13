// The entry point `@countersign/event-store/eventstoredb`. It is separate, so that only its users load the server's
// client, and only the one of the two that they need.
export { connectOf } from './connect-of.js';
export { readConnectionString } from './connection-string.js';
export { openEventStoreDb, streamPrefixes } from './event-store-db.js';
export type { EventStoreDbOptions } from './event-store-db.js';
export type { EventStoreDbTimeouts } from './connection.js';
export { createStreamSubscription } from './stream-subscription.js';
export { checkRights, mayDelete, secureStore } from './rights.js';
export type { RightsReport, RightTried } from './rights.js';
export { RightsUnknownError } from './rights-calls.js';
export type { ObjectStream, StreamSubscription, StreamSubscriptionParts } from './stream-subscription.js';
export type {
  ClientAppended,
  ClientEvent,
  ClientItem,
  ClientNewEvent,
  ClientPosition,
  ClientSubscription,
  ConnectClient,
  EventStoreClient,
} from './client.js';
