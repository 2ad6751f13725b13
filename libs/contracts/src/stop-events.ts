import { z } from 'zod';
import { proofShape } from './credentials.js';
import { timeSchema } from './primitives.js';
import { systemStreamPrefix } from './system-stream.js';

/** What a stop covers: a call that each member names. Null names any; `agentId` and `toolName` are globs. */
export const stopScopeSchema = z
  .strictObject({
    tenant: z.string().nullable(),
    agentId: z.string().nullable(),
    toolName: z.string().nullable(),
  })
  .meta({ id: 'StopScope', description: 'What a stop covers. Null names any; agentId and toolName are globs.' });
export type StopScope = z.infer<typeof stopScopeSchema>;

/** A person stopped calls: none of them is requested, approved or claimed until the stop is lifted. */
export const stopDeclaredSchema = z.strictObject({
  stopId: z.string(),
  scope: stopScopeSchema,
  reason: z.string(),
  declaredBy: z.string(),
  declaredAt: timeSchema,
  ...proofShape,
});

/** A person ended a stop. */
export const stopLiftedSchema = z.strictObject({
  stopId: z.string(),
  reason: z.string(),
  /** The approved and allowed calls that nobody had claimed, which may run now; at most 10,000. */
  callIds: z.array(z.string()),
  /** The same of each other tenant that the stop covered; 10,000 with those of `callIds`. Absent: there are none. */
  otherTenants: z.array(z.strictObject({ tenant: z.string(), callIds: z.array(z.string()) })).exactOptional(),
  liftedBy: z.string(),
  liftedAt: timeSchema,
  ...proofShape,
});

/** Calls of one tenant that a stop held back. */
export type HeldCalls = NonNullable<z.infer<typeof stopLiftedSchema>['otherTenants']>[number];

/** The events of the stream `system-<tenant>-stops`. */
export const stopEventSchemas = { StopDeclared: stopDeclaredSchema, StopLifted: stopLiftedSchema } as const;

/** An event of a tenant's stops. */
export type StopEvent = {
  [T in keyof typeof stopEventSchemas]: { readonly type: T; readonly data: z.infer<(typeof stopEventSchemas)[T]> };
}[keyof typeof stopEventSchemas];

/** The tenant of the operator: its stops may cover every tenant. */
export const operatorTenant = 'default';

/** The stream of the stops of a tenant. No process has this name: its id has 26 letters. */
export function stopStream(tenant: string): string {
  return `${systemStreamPrefix}${tenant}-stops`;
}
