export { createEmbeddedMessageBus } from './embedded/embedded-message-bus.js';
export type { EmbeddedMessageBusOptions } from './embedded/embedded-message-bus.js';
export { forgetProgressBeyond, furthestProgress } from './embedded/progress.js';
export type { LogReader } from './embedded/log-reader.js';
export {
  eventHeaders,
  eventKey,
  eventValue,
  parseEventMessage,
  parseLogEventMessage,
  toEventMessage,
} from './event-message.js';
export { FencedError } from './exclusive-progress.js';
export type { ExclusiveProgress, Turn } from './exclusive-progress.js';
export { EarlyMessageError, MessageTooLargeError, PoisonMessageError } from './message-bus.js';
export type {
  DeadLetter,
  DeadLetters,
  Delivery,
  Message,
  MessageBus,
  MessagePublisher,
  OnParked,
  OutgoingMessage,
  Place,
  SubscribeOptions,
  Subscription,
  SubscriptionStatus,
} from './message-bus.js';
export { topicNames } from './topics.js';
export type { TopicNames } from './topics.js';
