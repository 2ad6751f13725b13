import type { Answer, Command } from './words.ts';

/** The people of each call. */
export type Deciders = ReadonlyMap<number, readonly string[]>;

/** What the model is compared with. */
export interface Subject {
  readonly run: (command: Command) => Promise<Answer>;
  /** The people who are shown that they may decide about each pending call. */
  readonly deciders: () => Promise<Deciders>;
  readonly close: () => Promise<void>;
}

/** The label of every call: the person whose values they have. */
export const subjectName = 'kim';

/** How long a claim is good for. */
export const leaseMs = 60_000;
