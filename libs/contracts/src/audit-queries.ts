import { z } from 'zod';
import { unreadableType } from './event-facets.js';
import { eventTypes } from './events.js';
import { intString, shownValuesSchema } from './queries.js';
import { readValuesSchema } from './system-events.js';

/** `GET /v1/audit/tool-calls/{callId}/proof`. */
export const proofQuerySchema = z.strictObject({
  values: z.enum(['stored', 'clear']).optional().meta({
    description:
      'Default `stored`: an event whose sensitive values are stored without a seal has no body. `clear` shows these too, and is recorded.',
  }),
});
export type ProofQuery = z.infer<typeof proofQuerySchema>;

/** `GET /v1/audit/tool-calls/{callId}/events`. */
export const auditToolCallQuerySchema = z.strictObject({
  asOf: z.iso.datetime({ offset: true }).optional(),
  values: shownValuesSchema,
});

/** Names separated by commas, each once. A comma in a name is written as `\\,`. */
const namesSchema = z
  .string()
  .min(1)
  .max(8192)
  .transform((text, context) => {
    const names = [...new Set(text.split(/(?<!\\),/).map((name) => name.replaceAll('\\,', ',')))];
    if (names.length <= 100 && names.every((name) => name !== '')) return names;
    context.addIssue({ code: 'custom', message: 'must be 1 to 100 names, separated by commas' });
    return z.NEVER;
  })
  .pipe(z.array(z.string().min(1)).min(1));

const knownTypes: ReadonlySet<string> = new Set([...eventTypes, unreadableType]);

const typesSchema = namesSchema.refine((types) => types.every((type) => knownTypes.has(type)), {
  error: ({ input }) =>
    `there is no event ${(input as readonly string[]).filter((type) => !knownTypes.has(type)).join(', ')}`,
});

export const exportFormats = ['ndjson', 'csv', 'parquet', 'ocsf'] as const;

/** `GET /v1/audit/events`. */
export const auditEventsQuerySchema = z
  .strictObject({
    actor: namesSchema.optional().meta({
      description:
        'Who did it, or in whose place it was done. A person is found under each of their names that the policy file or the channels file lists.',
    }),
    types: typesSchema
      .optional()
      .meta({ description: 'Types of events. `unreadable`: those that this version cannot read.' }),
    toolName: namesSchema.optional(),
    agentId: namesSchema.optional(),
    runId: namesSchema.optional(),
    callId: namesSchema.optional(),
    ruleId: namesSchema.optional().meta({ description: 'The rule of the policy that the event names.' }),
    via: namesSchema.optional().meta({ description: 'Through which channel a person responded.' }),
    since: z.iso.datetime({ offset: true }).optional().meta({ description: 'Recorded at this time or later.' }),
    until: z.iso.datetime({ offset: true }).optional().meta({ description: 'Recorded before this time.' }),
    after: intString(0, Number.MAX_SAFE_INTEGER).optional().meta({ description: 'Only events after this position.' }),
    before: intString(1, Number.MAX_SAFE_INTEGER).optional().meta({ description: 'Only events before this position.' }),
    order: z
      .enum(['asc', 'desc'])
      .meta({ id: 'LogOrder' })
      .optional()
      .meta({ description: 'Default `asc`, the order of the log. `desc`: the newest first.' }),
    limit: intString(1, 10_000).optional().meta({
      description:
        'Default 1,000. A page may have fewer: the header `Link` leads to the next one as long as there is more to look through.',
    }),
    format: z.enum(exportFormats).meta({ id: 'ExportFormat' }).optional().meta({ description: 'Default `ndjson`.' }),
    ocsf: z.enum(['1.8', '1.9']).meta({ id: 'OcsfVersion' }).optional().meta({
      description:
        'The version of `format=ocsf`. Default `1.8`. `1.9`: each event has the leaf of the tree and the newest checkpoint, in the profile `record_integrity`.',
    }),
    values: readValuesSchema.optional().meta({
      description:
        'Default `masked`. `stored`: events as they are stored, with hidden values encrypted, in `ndjson` alone. `clear`: hidden values as they were recorded, which is recorded.',
    }),
  })
  .superRefine(({ since, until, after, before, format = 'ndjson', values }, context) => {
    const refuse = (path: string, message: string): void => context.addIssue({ code: 'custom', path: [path], message });
    if (since !== undefined && until !== undefined && Date.parse(since) >= Date.parse(until))
      refuse('until', 'must be later than `since`');
    if (after !== undefined && before !== undefined && before <= after) refuse('before', 'must be larger than `after`');
    if (values === 'stored' && format !== 'ndjson') refuse('format', 'must be `ndjson` for `values=stored`');
  })
  .refine(({ format, ocsf }) => ocsf === undefined || format === 'ocsf', {
    path: ['ocsf'],
    error: 'needs `format=ocsf`',
  });
export type AuditEventsQuery = z.output<typeof auditEventsQuerySchema>;

/** `GET /v1/audit/erasures`. Without a member: all erasures. */
export const erasuresQuerySchema = z.strictObject({
  subject: z.string().min(1).max(512).optional().meta({
    description:
      'Only those of this subject, named as in an erasure: the label `subject`, or `run:` and the id of a run without it.',
  }),
  callId: z.string().min(1).max(128).optional().meta({
    description: 'Only those that were about values of this call.',
  }),
});
export type ErasuresQuery = z.output<typeof erasuresQuerySchema>;

/** `GET /v1/audit/state`. */
export const auditStateQuerySchema = z.strictObject({
  asOf: z.iso.datetime({ offset: true }).optional().meta({
    description: 'The moment, by the time of the record, inclusive. Default: now.',
  }),
});
