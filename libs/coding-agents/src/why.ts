import { CountersignError, gateRemedy, withRemedy } from '@countersign/worker-sdk';
import { HookInputError } from './agent.js';

/** The cause of a failure, and its remedy. */
export function whyOf(error: unknown): string {
  const cause = error instanceof Error ? error.message : String(error);
  if (error instanceof HookInputError) return withRemedy(cause, 'Check which agent the command names.');
  if (error instanceof TypeError) return withRemedy(cause, gateRemedy('invalid-request'));
  return error instanceof CountersignError ? withRemedy(cause, gateRemedy(error.code)) : cause;
}

/** Says that the tool did not run, and why. */
export function didNotRun(error: unknown): string {
  const why = whyOf(error);
  return `The tool did not run. ${why.charAt(0).toUpperCase()}${why.slice(1)}`;
}
