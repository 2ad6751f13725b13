import { z } from 'zod';
import { proofShape } from './credentials.js';
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
  ...proofShape,
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

/** A call, as far as it says whose values it has. */
interface SubjectCall {
  readonly labels: Readonly<Record<string, string>>;
  readonly runId: string;
  readonly requestedBy: string;
}

/** The name that an erasure gives: the label `subject` of a call, otherwise its run. No label is the name of a run or of a grant. */
export function subjectNameOf({ labels, runId }: Pick<SubjectCall, 'labels' | 'runId'>): string {
  const label = Object.hasOwn(labels, 'subject') ? labels['subject'] : undefined;
  if (label === undefined || label === '') return `run:${runId}`;
  return /^(?:run|grant|label):/.test(label) ? `label:${label}` : label;
}

/** Whose values a call has. Each principal has names of its own, so that none reaches the calls of another. */
export function subjectOf(call: SubjectCall): string {
  return JSON.stringify([call.requestedBy, subjectNameOf(call)]);
}

/** Whose key the salt of a grant has: that of the call that was remembered, otherwise the grant has one of its own. */
export function subjectOfGrant({ subject, grantId }: { readonly subject?: string; readonly grantId: string }): string {
  return subject ?? `grant:${grantId}`;
}
