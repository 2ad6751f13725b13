import { z } from 'zod';
import { timeSchema } from './primitives.js';

/** The proof that the sensitive values of one subject were erased. Recorded before their keys are destroyed. */
export const subjectErasedSchema = z.strictObject({
  /** The keyed hash of the subject: its name may itself be personal. */
  subject: z.string(),
  /** The ids of the destroyed keys, as the sealed events name them. */
  keys: z.array(z.string()),
  /** How many calls and values became unreadable. */
  calls: z.int().min(0),
  values: z.int().min(0),
  /** Values of the subject that an older version recorded in clear: they stay readable. */
  clearValues: z.int().min(0),
  erasedBy: z.string(),
  erasedAt: timeSchema,
  reason: z.string().nullable(),
});

/** Events of one subject, `subject-<hash>`. */
export interface SubjectEvent {
  readonly type: 'SubjectErased';
  readonly data: z.infer<typeof subjectErasedSchema>;
}

/** The stream of one subject, by its keyed hash. */
export function subjectStream(hash: string): string {
  return `subject-${hash}`;
}

/** Whose values a call has: that of its label `subject`, otherwise its run. */
export function subjectOf({
  labels,
  runId,
}: {
  readonly labels: Readonly<Record<string, string>>;
  readonly runId: string;
}): string {
  const label = Object.hasOwn(labels, 'subject') ? labels['subject'] : undefined;
  return label === undefined || label === '' ? `run:${runId}` : label;
}

/** Whose key the salt of a grant has: that of the call that was remembered, otherwise the grant has one of its own. */
export function subjectOfGrant({ subject, grantId }: { readonly subject?: string; readonly grantId: string }): string {
  return subject ?? `grant:${grantId}`;
}
