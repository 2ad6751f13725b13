import { printable, refusalWords } from '@countersign/text';
import type { Problem } from '../cli-error.js';

const sentences = {
  'already-voted': 'You have already answered this. `countersign withdraw` takes your answer back while it is pending.',
};

/** A refusal in words for people. */
export function problemWords(problem: Problem, nowMs: number): string {
  return refusalWords(problem, nowMs, { channel: printable, sentences });
}
