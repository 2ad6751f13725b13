import type { KafkaConnection } from '@countersign/message-bus/kafka';
import type { KafkaConfig } from './config.js';

/** The settings as the bus takes them. */
export function toConnection(
  { brokers, ssl, sasl, topicPrefix }: KafkaConfig,
  clientId: string,
): KafkaConnection & { readonly topicPrefix: string } {
  return {
    brokers,
    clientId,
    ssl,
    topicPrefix,
    ...(sasl === null ? {} : { sasl: { ...sasl, password: sasl.password.reveal() } }),
  };
}
