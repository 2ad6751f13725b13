import { z } from 'zod';
import { timeSchema } from './primitives.js';

export const oversightGroupings = ['approver', 'tool', 'rule'] as const;
/** The grouping of the rows of an oversight report. */
export type OversightGrouping = (typeof oversightGroupings)[number];
export const oversightGroupingSchema = z.enum(oversightGroupings).meta({ id: 'OversightGrouping' });

const count = z.int().min(0);

const figures = {
  /** Votes of people; later withdrawn ones too. The next four are their parts. */
  decisions: count,
  approvals: count,
  edits: count,
  denials: count,
  answers: count,
  /** Denials among the decisions, 0 to 1; null without a decision. */
  rejectionRate: z.number().min(0).max(1).nullable(),
  /** From when the person could decide first to their vote. Nearest rank; null without a decision. */
  medianMs: count.nullable(),
  p90Ms: count.nullable(),
  /** Approvals given faster than the arguments can be read. A hint, not a proof. */
  fastApprovals: count,
  /** Votes given as a delegate. */
  onBehalfOf: count,
  withdrawn: count,
  reveals: count,
  // No approver causes the counts below. A report by approver has them in the row whose key is null.
  requests: count,
  expiries: count,
  escalations: count,
  reminders: count,
  cancellations: count,
  /** Approvals by silence, where a rule says so. */
  automatic: count,
};

const oversightFiguresSchema = z.strictObject(figures);
/** The figures of one row of a report. */
export type OversightFigures = z.infer<typeof oversightFiguresSchema>;

const oversightRowSchema = z.strictObject({
  /** The approver, tool or rule; null: no person. */
  key: z.string().nullable(),
  ...figures,
});
export type OversightRow = z.infer<typeof oversightRowSchema>;

export const oversightReportSchema = z
  .strictObject({
    by: oversightGroupingSchema,
    /** The start of the period, inclusive. `to` is exclusive. */
    from: timeSchema,
    to: timeSchema,
    /** `own`: only what the reader did. */
    scope: z.enum(['tenant', 'own']),
    /** An approval within `baseMs` + `perCharacterMs` for each character of the arguments, at most `maxMs`, is fast. */
    fast: z.strictObject({ baseMs: count, perCharacterMs: count, maxMs: count }),
    /** False: the log of the period is longer than a report reads, and `to` is how far it got. */
    complete: z.boolean(),
    /** The most decisions first; at most 1,000. */
    rows: z.array(oversightRowSchema),
    /** The sum of the rows that were left out; `keys` is a lower bound of their number. */
    others: z.strictObject({ keys: count, ...figures }).nullable(),
    total: oversightFiguresSchema,
    fastPositions: z.array(z.int()).meta({
      description:
        'The positions in the log of the fast approvals that `total` counts, the earliest first; at most 1,000.',
    }),
  })
  .meta({
    id: 'OversightReport',
    description: 'How people decided in a period, per approver, tool or rule. Evidence to look into, not a proof.',
  });

/** How people decided in a period. */
export type OversightReport = z.infer<typeof oversightReportSchema>;
