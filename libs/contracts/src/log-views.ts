import { z } from 'zod';
import { eventActorSchema } from './event-actor.js';
import { jsonObjectSchema } from './json.js';
import type { JsonObject } from './json.js';
import { timeSchema } from './primitives.js';

/** A message that an older version published has no such member, and stays readable. */
const calledNameSchema = z.string().nullable().default(null).meta({
  description: 'Null: the event belongs to no call, or comes from a version that did not record it.',
});

/** One recorded event as it is sent: over SSE, in audit reads and on the events topic. */
export const eventViewSchema = z
  .strictObject({
    eventId: z.string(),
    type: z.string(),
    position: z.int(),
    callId: z.string().nullable(),
    toolCallId: calledNameSchema,
    toolName: calledNameSchema,
    agentId: calledNameSchema,
    runId: z.string().nullable(),
    tenant: z.string(),
    revision: z.int(),
    recordedAt: timeSchema,
    actor: eventActorSchema.nullable().default(null).meta({
      description: 'Null: the event cannot be read, or comes from a version that did not say it.',
    }),
    data: jsonObjectSchema.nullable().meta({ description: 'Null where `unreadable` says why it cannot be read.' }),
    unreadable: z.string().exactOptional().meta({
      description: 'Why the version that sends this cannot read the event. Absent: it can.',
    }),
    erased: z.array(z.string()).exactOptional().meta({
      description:
        'JSON pointers of values in `data` that were erased: `[erased]` stands in their places. Absent: none.',
    }),
    missing: z.array(z.string()).exactOptional().meta({
      description:
        'JSON pointers of values in `data` whose key is lost: `[key missing]` stands in their places. Absent: none.',
    }),
  })
  .meta({ id: 'Event', description: 'One recorded event.' });

/** An event as it is sent, which a version may not be able to read. */
export type LogEventView = z.infer<typeof eventViewSchema>;

/** An event as it is sent, with its data. */
export type EventView = Omit<LogEventView, 'data' | 'unreadable'> & {
  readonly data: JsonObject;
  readonly unreadable?: never;
};

export const unreadableStreamSchema = z
  .strictObject({
    stream: z.string(),
    callId: z.string().nullable(),
    runId: z.string().nullable(),
    eventId: z.string(),
    type: z.string(),
    revision: z.int(),
    position: z.int(),
    recordedAt: timeSchema,
    why: z.string(),
  })
  .meta({
    id: 'UnreadableStream',
    description:
      'A stream of the log that is set aside, and its first event that this version cannot read. Nothing is decided or run on it.',
  });

export type UnreadableStreamView = z.infer<typeof unreadableStreamSchema>;

export const erasureViewSchema = z
  .strictObject({
    subject: z.string(),
    status: z
      .enum(['possible', 'erased', 'nothing-to-erase'])
      .meta({ description: 'possible: a dry run; nothing-to-erase: no value of the subject is encrypted.' }),
    calls: z.int().meta({ description: 'Calls with encrypted values.' }),
    values: z.int(),
    openCalls: z.array(z.string()).meta({
      description: 'Those of the calls that are not settled, at most 100. They are in the way, unless forced.',
    }),
    clearValues: z
      .int()
      .meta({ description: 'Values that an older version recorded in clear. They cannot be erased.' }),
    stream: z.string().nullable().meta({ description: 'The stream with the proof, `SubjectErased`.' }),
    erasedAt: timeSchema.nullable(),
  })
  .meta({ id: 'Erasure', description: 'What an erasure makes unreadable.' });

export type ErasureView = z.infer<typeof erasureViewSchema>;

export const pastErasureSchema = z
  .strictObject({
    erasedBy: z.string().meta({ description: 'The admin who erased the values.' }),
    erasedAt: timeSchema,
    reason: z.string().nullable(),
    requestedBy: z.string().nullable().meta({
      description:
        'Only values of calls of this principal were erased. Null: of every principal, or the query named no subject and no call.',
    }),
    values: z.int().meta({ description: 'How many values became unreadable.' }),
    clearValues: z.int().meta({ description: 'Values in clear at that time, which stay readable.' }),
    calls: z
      .array(
        z
          .strictObject({
            callId: z.string(),
            fields: z.array(z.string()).meta({ description: 'JSON pointers into the data of the events of the call.' }),
          })
          .meta({ id: 'ErasedCall', description: 'A call with erased values.' }),
      )
      .meta({ description: 'The calls whose values became unreadable, at most 1,000.' }),
    complete: z.boolean().meta({ description: 'False: it was about more calls.' }),
    eventId: z.string(),
    position: z.int(),
    stream: z.string().meta({ description: 'The stream with the proof, `SubjectErased`.' }),
  })
  .meta({ id: 'PastErasure', description: 'An erasure that is recorded, and what became unreadable with it.' });

export type PastErasure = z.infer<typeof pastErasureSchema>;
