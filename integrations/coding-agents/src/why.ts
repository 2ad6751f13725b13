import { CountersignError, gateRemedy, withRemedy } from '@countersign/worker-sdk';
import { HookInputError } from './agent.js';

/** The cause of a failure, and its remedy. */
export function whyOf(error: unknown): string {
  const cause = error instanceof Error ? error.message : String(error);
  if (error instanceof HookInputError) return withRemedy(cause, error.remedy);
  if (error instanceof TypeError) return withRemedy(cause, gateRemedy('invalid-request'));
  return error instanceof CountersignError ? withRemedy(inPlainWords(cause), gateRemedy(error.code)) : cause;
}

/** The cause of a failed report, and what is left to do: the tool has run. */
export function whyNotRecorded(error: unknown): string {
  if (error instanceof HookInputError) return whyOf(error);
  const cause = error instanceof Error ? error.message : String(error);
  return withRemedy(inPlainWords(cause), 'The tool has run: do not make its call again.');
}

/** An error of OpenSSL is a line of its source code, with line ends. */
function inPlainWords(cause: string): string {
  return cause.replace(/\S*:error:[0-9A-F]+:SSL routines:[^:]*:([^:]*):[^]*$/, 'TLS: $1').replaceAll(/\s+/g, ' ');
}

const notRun = 'The tool did not run.';

/** The attack: while people decide, a link in the path of the folder gets another target. */
export const folderChanged = `${notRun} The path of the folder leads to another folder since the call was asked for. Call it again: it is another call there.`;

/** Says that the tool did not run, and why. */
export function didNotRun(error: unknown): string {
  const why = whyOf(error);
  return `${notRun} ${why.charAt(0).toUpperCase()}${why.slice(1)}`;
}

/** Says that a call was allowed before. */
export function alreadyAllowed(callId: string): string {
  return `This call was already allowed once (${callId}); it may have run, and it does not run again. Look at its effect before you make another call.`;
}

/** Returns whether an agent repeats one of our denials: of this call, or of one that never reached the ledger. */
export function isOwnDenial(text: string, callId: string): boolean {
  return text.includes(notRun) || text.includes(alreadyAllowed(callId));
}
