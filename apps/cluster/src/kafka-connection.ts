import type { KafkaConnection } from '@countersign/message-bus/kafka';
import type { KafkaConfig } from './config.js';

/** Converts the settings to the bus's form. */
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
