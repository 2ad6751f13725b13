/** A person's action, by the type of the decision: `bob approved …`. */
export const decidedWords = {
  approve: 'approved',
  edit: 'approved with edited arguments',
  deny: 'denied',
  answer: 'answered in its place',
} as const;

/** The effect of one's own decision, by its type: `Approved: …`. */
export const doneWords = {
  approve: 'Approved',
  edit: 'Approved with your arguments',
  deny: 'Denied',
  answer: 'Answered in its place',
} as const;

/** What one's own decision has brought about: to approve the answer of another is to answer. */
export function effectOf(
  type: keyof typeof doneWords,
  { proposal }: { readonly proposal: { readonly kind: 'run' | 'answer' } },
): keyof typeof doneWords {
  return type === 'approve' && proposal.kind === 'answer' ? 'answer' : type;
}
