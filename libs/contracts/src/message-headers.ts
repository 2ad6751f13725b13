import { z } from 'zod';
import { timeSchema } from './primitives.js';

/** CloudEvents 1.0, Kafka binding, binary mode. */
const cloudEvent = {
  'content-type': z.literal('application/json'),
  ce_specversion: z.literal('1.0'),
  ce_id: z.string().min(1).max(256),
  ce_source: z.string().min(1).meta({ description: 'A URI reference: who made the message.' }),
  ce_type: z.string().min(1),
  traceparent: z.string().optional().meta({ description: 'W3C Trace Context.' }),
};

/** The headers of a request; other headers are allowed. */
export const requestHeadersSchema = z
  .looseObject({
    ...cloudEvent,
    ce_time: z.iso.datetime({ offset: true }).optional(),
    ce_subject: z.string().optional(),
    'countersign-signature': z.string().optional().meta({
      description:
        'A detached JWS over the value; its protected header has `alg`, `kid`, `iat`, `ce_id` and `ce_type`.',
    }),
  })
  .meta({ id: 'RequestHeaders' });

/** The headers of an event. */
export const eventHeadersSchema = z
  .looseObject({
    ...cloudEvent,
    ce_time: timeSchema,
    ce_sequence: z.string().meta({ description: 'The position in the log, in decimal.' }),
    ce_subject: z.string().optional().meta({ description: 'The `callId`, where there is one.' }),
    'countersign-shortened': z.enum(['large', 'all']).optional().meta({
      description:
        'The event was larger than a broker takes: large members of its data, or all, are left out. Ask the ledger.',
    }),
  })
  .meta({ id: 'EventHeaders' });

/** The headers of a checkpoint. */
export const checkpointHeadersSchema = z
  .looseObject({
    'content-type': z.literal('text/plain; charset=utf-8'),
    ce_specversion: z.literal('1.0'),
    ce_id: z.string().min(1).max(256).meta({ description: 'The same for the same size of the same log.' }),
    ce_source: z.string().min(1).meta({ description: 'A URI reference with the tenant.' }),
    ce_type: z.literal('CheckpointSigned'),
    ce_subject: z.string().meta({ description: 'The origin of the log: its name, tenant and epoch.' }),
  })
  .meta({ id: 'CheckpointHeaders' });

const decimal = z.string().regex(/^[0-9]+$/);

/** The headers that a dead letter has in addition to those of the original message. */
export const deadLetterHeadersSchema = z
  .looseObject({
    'x-dead-letter-code': z.string().meta({
      description: 'Why, for programs, such as `malformed`, or `crashed`: three processes ended while they handled it.',
    }),
    'x-dead-letter-detail': z.string().meta({ description: 'Why, for people.' }),
    'x-dead-letter-topic': z.string(),
    'x-dead-letter-partition': decimal,
    'x-dead-letter-offset': decimal,
    'x-dead-letter-attempts': decimal,
    'x-dead-letter-at': timeSchema,
    'x-dead-letter-group': z.string().meta({ description: 'The consumer group that put it aside.' }),
  })
  .meta({ id: 'DeadLetterHeaders' });
