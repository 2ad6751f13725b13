// The entrance `@countersign/event-store/eventstoredb`: apart from the library's own, so that only who uses the server
// loads its client, and of the two clients only the one that it asks for.
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
  ClientEvent,
  ClientItem,
  ClientNewEvent,
  ClientPosition,
  ClientSubscription,
  ConnectClient,
  EventStoreClient,
} from './client.js';
