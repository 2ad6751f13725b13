import { z } from 'zod';
import { externalIdSchema, shownTextSchema, timeSchema } from './primitives.js';
import { stopScopeSchema } from './stop-events.js';

export { deriveStopId } from './ids.js';
export { operatorTenant, stopStream } from './stop-events.js';
export type { HeldCalls, StopEvent, StopScope } from './stop-events.js';

const globSchema = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[^[\]{}\\\s]*$/, 'must be a glob: only * and ? have a meaning, and it has no white space');

const reasonSchema = shownTextSchema.meta({
  description: 'Why. It is recorded, and told to those whose calls it is about',
});

/** `POST /v1/stops`. */
export const declareStopSchema = z
  .strictObject({
    tenant: externalIdSchema.optional().meta({
      description:
        'The tenant whose calls are stopped. Default: your own; for a token of the tenant `default`, every tenant. Only such a token may name another',
    }),
    agentId: globSchema.optional().meta({ description: 'A glob of agents. Without it, the calls of every agent' }),
    toolName: globSchema.optional().meta({ description: 'A glob of tools. Without it, the calls of every tool' }),
    reason: reasonSchema,
  })
  .meta({ id: 'DeclareStop' });
export type DeclareStopBody = z.infer<typeof declareStopSchema>;

/** `POST /v1/stops/{stopId}/lift`. */
export const liftStopSchema = z.strictObject({ reason: reasonSchema }).meta({ id: 'LiftStop' });
export type LiftStopBody = z.infer<typeof liftStopSchema>;

export const stopViewSchema = z
  .strictObject({
    stopId: z.string(),
    scope: stopScopeSchema,
    reason: z.string(),
    declaredBy: z.string(),
    declaredAt: timeSchema,
    liftedBy: z.string().nullable(),
    liftedAt: timeSchema.nullable(),
    liftReason: z.string().nullable(),
  })
  .meta({ id: 'Stop', description: 'A stop of calls, in force until it is lifted.' });
export type StopView = z.infer<typeof stopViewSchema>;

export const stopsSchema = z
  .strictObject({ stops: z.array(stopViewSchema) })
  .meta({ id: 'Stops', description: 'The stops that concern the tenant.' });
export type StopsView = z.infer<typeof stopsSchema>;

const stoppedCallSchema = z
  .strictObject({
    callId: z.string(),
    runId: z.string(),
    agentId: z.string(),
    toolName: z.string(),
    state: z.string(),
    resolverId: z.string().nullable(),
    leaseUntil: timeSchema.nullable(),
  })
  .meta({ id: 'StoppedCall', description: 'A call that a stop covers.' });
export type StoppedCall = z.infer<typeof stoppedCallSchema>;

export const stopEffectSchema = z
  .strictObject({
    stop: stopViewSchema,
    running: z.array(stoppedCallSchema),
    held: z.array(stoppedCallSchema),
    waiting: z.int(),
  })
  .meta({ id: 'StopEffect', description: 'A stop, and the calls of the tenant that it covers now.' });
export type StopEffect = z.infer<typeof stopEffectSchema>;
