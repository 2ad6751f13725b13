import type { Illegal, RightsUnproven } from '../legality/judged-event.js';

/** What is wrong with the rights of a person, or could not be shown. */
export type Word = Illegal | RightsUnproven;
