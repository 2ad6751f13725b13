import type { ErrorCode, Refusal } from '@countersign/contracts';

/** What became of a command. `position` is where the log stood when it was done: a view that has reached it shows it. */
export type Result<T = undefined> =
  | { readonly status: 'done'; readonly value: T; readonly position: number }
  | { readonly status: 'refused'; readonly refusal: Refusal };

/** A "no" as a result. */
export function refused(
  code: ErrorCode,
  detail: string,
  more: Omit<Refusal, 'code' | 'detail'> = {},
): { readonly status: 'refused'; readonly refusal: Refusal } {
  return { status: 'refused', refusal: { code, detail, ...more } };
}

/** The answer to a token that requests in the name of an agent that is not its own. */
export function mayNotSpeakFor(agentId: string): { readonly status: 'refused'; readonly refusal: Refusal } {
  return refused(
    'forbidden',
    `this principal may not speak for the agent "${agentId}": leave agentId out, or have it listed in agentIds`,
  );
}

/** The answer to an id that is nobody's, or another tenant's: they cannot be told apart. */
export function noSuchCall(callId: string): { readonly status: 'refused'; readonly refusal: Refusal } {
  return refused('not-found', `there is no tool call ${callId}`);
}
