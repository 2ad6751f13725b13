import { z } from 'zod';
import { proofShape } from './credentials.js';
import { jsonValueSchema } from './json.js';
import { digestSchema, timeSchema } from './primitives.js';

/** A worker claimed the call, and may run it now. */
export const executionClaimedSchema = z.strictObject({
  /** The fencing token: 1 for the first claim, then growing. */
  attempt: z.int().min(1),
  resolverId: z.string(),
  claimedBy: z.string(),
  actionDigest: digestSchema,
  idempotencyKey: z.string(),
  /** The command that claimed: its retry gets the same claim, and no later one. Absent in older logs. */
  claimId: z.string().exactOptional(),
  /** The number of the call in its run and how many calls the run had, for its receipt. Absent: not known. */
  seq: z
    .strictObject({ n: z.int().min(1), of: z.int().min(1) })
    .meta({ id: 'PlaceInRun' })
    .exactOptional(),
  claimedAt: timeSchema,
  leaseUntil: timeSchema,
});

/** The worker that runs the call needs more time. */
export const executionClaimRenewedSchema = z.strictObject({
  attempt: z.int().min(1),
  leaseUntil: timeSchema,
  renewedAt: timeSchema,
});

const reported = {
  /** The claim that reports; null when the client executed the call. */
  attempt: z.int().min(1).nullable(),
  executedBy: z.enum(['resolver', 'client']).meta({ id: 'Executor' }),
  reportedBy: z.string(),
  reportedAt: timeSchema,
  /** The report was late; absent when it was in time. */
  late: z.enum(['lease-over', 'outcome-unknown', 'execute-by-over']).meta({ id: 'Lateness' }).exactOptional(),
  // Of a client's report alone: a worker is the one that claimed.
  ...proofShape,
};

/** The tool ran, and this is its output. */
export const executionSucceededSchema = z.strictObject({ ...reported, output: jsonValueSchema });

/** The tool ran and failed, and this is its error. */
export const executionFailedSchema = z.strictObject({ ...reported, error: jsonValueSchema });

/** The lease of an idempotent tool is over without a report: the call is claimable again. */
export const executionLapsedSchema = z.strictObject({ attempt: z.int().min(1), lapsedAt: timeSchema });

/** It is unknown whether the tool ran. It is never retried automatically; a person reconciles it. */
export const executionOutcomeUnknownSchema = z.strictObject({
  attempt: z.int().min(1),
  reason: z.string(),
  unknownSince: timeSchema,
});

/** A person said what happened to a call of which it was unknown. */
export const executionReconciledSchema = z.strictObject({
  status: z.enum(['succeeded', 'failed', 'retry']),
  note: z.string(),
  reconciledBy: z.string(),
  reconciledAt: timeSchema,
  ...proofShape,
});
