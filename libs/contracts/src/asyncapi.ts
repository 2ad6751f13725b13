import {
  checkpointHeadersSchema,
  deadLetterHeadersSchema,
  eventHeadersSchema,
  requestHeadersSchema,
} from './message-headers.js';
import { eventSchemas } from './events.js';
import { requestMessageSchemas } from './request-messages.js';
import { membersOf, type JsonSchema } from './json-schema.js';
import { createSchemaRegistry, type SchemaRegistry } from './schema-registry.js';
import { eventViewSchema } from './log-views.js';

/** The AsyncAPI document of the topics. */
interface AsyncApiDocument {
  readonly asyncapi: '3.0.0';
  readonly channels: Readonly<Record<string, JsonSchema>>;
  readonly operations: Readonly<Record<string, JsonSchema>>;
  readonly components: {
    readonly messages: Readonly<Record<string, JsonSchema>>;
    readonly schemas: Readonly<Record<string, JsonSchema>>;
  };
  readonly [member: string]: unknown;
}

/** A message on a topic. */
interface Topic {
  readonly name: 'requests' | 'events' | 'deadLetters' | 'checkpoints';
  readonly address: string;
  readonly description: string;
  readonly messages: Readonly<Record<string, JsonSchema>>;
}

const summaries = {
  ToolCallRequested: 'The calls of one model step, usually one.',
  ApprovalRequested:
    'A person is wanted for a call already requested and not yet claimed; also asks again after an expiry. On a pending call it adds reason and description.',
  ToolCallCancelled: 'Cancels a call; without `toolCallId` all open calls of the run.',
  ToolOutputSubmitted: 'The result of a client-executed tool.',
} as const satisfies Record<keyof typeof requestMessageSchemas, string>;

/**
 * The AsyncAPI 3 document of the topics, made of the very schemas that the processes read and write with.
 * @example
 * const { channels } = createAsyncApiDocument();
 */
export function createAsyncApiDocument(prefix = 'countersign'): AsyncApiDocument {
  const book = createSchemaRegistry({ document: 'asyncapi' });
  const makers = [requestsTopic, eventsTopic, deadLettersTopic, checkpointsTopic];
  const topics = makers.map((make) => make(prefix, book));
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Countersign',
      version: '1.0.0',
      description:
        'The approval ledger for AI agents, over Kafka. Workers send requests; every recorded event comes back. CloudEvents 1.0 in binary mode. Only the event store is authority: a message is a request or a copy.',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/json',
    servers: {
      kafka: {
        host: '{broker}',
        protocol: 'kafka',
        description: 'The brokers of the installation.',
        variables: { broker: { default: '127.0.0.1:9092' } },
      },
    },
    channels: Object.fromEntries(topics.map((topic) => [topic.name, channelOf(topic)])),
    operations: operations(),
    components: {
      messages: Object.fromEntries(
        topics.flatMap(({ name, messages }) =>
          Object.entries(messages).map(([type, message]) => [`${name}.${type}`, message]),
        ),
      ),
      schemas: book.components(),
    },
  };
}

function requestsTopic(prefix: string, book: SchemaRegistry): Topic {
  const messages = Object.entries(requestMessageSchemas).map(([type, schema]) => [
    type,
    {
      name: type,
      title: `${type} (request)`,
      summary: summaries[type as keyof typeof summaries],
      headers: headersOf(`${type}Request`, type, book.use(requestHeadersSchema, 'input', 'RequestHeaders'), book),
      payload: book.use(schema, 'input', `${type}Request`),
      bindings: keyedByRun('string', 'The `runId` of the data, so that the requests of a run keep their order.'),
    },
  ]);
  return {
    name: 'requests',
    address: `${prefix}.requests.v1`,
    description:
      'Workers to the ledger. `ce_id` makes a repeat harmless. A well-formed request that is refused is answered by `RequestRefused` on the events topic; a malformed one goes to the dead letters.',
    messages: Object.fromEntries(messages) as Record<string, JsonSchema>,
  };
}

function eventsTopic(prefix: string, book: SchemaRegistry): Topic {
  const messages = Object.entries(eventSchemas).map(([type, data]) => [
    type,
    {
      name: type,
      title: `${type} (event)`,
      headers: headersOf(`${type}Event`, type, book.use(eventHeadersSchema, 'output', 'EventHeaders'), book),
      payload: withOwn(book, `${type}Event`, book.use(eventViewSchema, 'output', 'Event'), {
        type: { const: type },
        data: book.use(data, 'output', `${type}Data`),
      }),
      bindings: keyedByRun(['string', 'null'], 'The `runId` of the event; null for events that belong to no run.'),
    },
  ]);
  return {
    name: 'events',
    address: `${prefix}.events.v1`,
    description:
      'Every recorded event, once or more: dedupe by `ce_id`. The first copies are in order per run. Sensitive values are masked. Ask the ledger before acting on one.',
    messages: Object.fromEntries(messages) as Record<string, JsonSchema>,
  };
}

function deadLettersTopic(prefix: string, book: SchemaRegistry): Topic {
  return {
    name: 'deadLetters',
    address: `${prefix}.dead-letters.v1`,
    description: 'Messages that could not be handled, with the reason. Key, value and headers are unchanged.',
    messages: {
      DeadLetter: {
        name: 'DeadLetter',
        title: 'A dead letter',
        contentType: 'application/octet-stream',
        headers: book.use(deadLetterHeadersSchema, 'output', 'DeadLetterHeaders'),
        payload: book.define('DeadLetterValue', { description: 'The bytes of the original message.' }),
        bindings: { kafka: { key: { description: 'The key of the original message.' }, bindingVersion: '0.5.0' } },
      },
    },
  };
}

function checkpointsTopic(prefix: string, book: SchemaRegistry): Topic {
  return {
    name: 'checkpoints',
    address: `${prefix}.checkpoints.v1`,
    description:
      'Signed checkpoints of the log, with `{ kafka: true }` in COUNTERSIGN_LOG_SINKS: once or more, those of a tenant in order.',
    messages: {
      Checkpoint: {
        name: 'Checkpoint',
        title: 'A signed checkpoint',
        contentType: 'text/plain',
        headers: book.use(checkpointHeadersSchema, 'output', 'CheckpointHeaders'),
        payload: book.define('Checkpoint', { type: 'string', description: 'A signed note of C2SP tlog-checkpoint.' }),
        bindings: { kafka: { key: { type: 'string', description: 'The tenant.' }, bindingVersion: '0.5.0' } },
      },
    },
  };
}

function channelOf({ name, address, description, messages }: Topic): JsonSchema {
  const references = Object.keys(messages).map((type) => [type, { $ref: `#/components/messages/${name}.${type}` }]);
  return {
    address,
    description,
    servers: [{ $ref: '#/servers/kafka' }],
    messages: Object.fromEntries(references) as JsonSchema,
    bindings: { kafka: { topic: address, partitions: 12, replicas: 3, bindingVersion: '0.5.0' } },
  };
}

/** From the side of Countersign, as AsyncAPI wants it: a worker sends what is received here. */
function operations(): Record<string, JsonSchema> {
  const on = (channel: string) => ({ channel: { $ref: `#/channels/${channel}` } });
  return {
    receiveRequest: { action: 'receive', ...on('requests'), summary: 'The ledger takes requests.' },
    sendEvent: { action: 'send', ...on('events'), summary: 'The relay publishes what was recorded.' },
    sendCheckpoint: { action: 'send', ...on('checkpoints'), summary: 'The notary publishes what it signed.' },
    sendDeadLetter: { action: 'send', ...on('deadLetters'), summary: 'A consumer puts aside what it cannot handle.' },
  };
}

function headersOf(name: string, type: string, headers: JsonSchema, book: SchemaRegistry): JsonSchema {
  return withOwn(book, `${name}Headers`, headers, { ce_type: { const: type } });
}

/**
 * Defines a component like another one with some members of its own. Not as `allOf`: generators of models merge the members into
 * the other component, so that all events would have the type of the last one.
 */
function withOwn(
  book: SchemaRegistry,
  name: string,
  { $ref }: JsonSchema,
  own: Record<string, JsonSchema>,
): JsonSchema {
  const other = book.components()[String($ref).replace('#/components/schemas/', '')] ?? {};
  return book.define(name, { ...other, properties: { ...membersOf(other), ...own } });
}

function keyedByRun(type: 'string' | readonly string[], description: string): JsonSchema {
  return { kafka: { key: { type, description }, bindingVersion: '0.5.0' } };
}
