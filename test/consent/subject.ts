import type { Answer, Command } from './words.ts';

/** What the model is compared with. */
export interface Subject {
  readonly run: (command: Command) => Promise<Answer>;
  readonly close: () => Promise<void>;
}

/** The label of every call: the person whose values they have. */
export const subjectName = 'kim';

/** How long a claim is good for. */
export const leaseMs = 60_000;
