import type { ErrorCode, Refusal } from '@countersign/contracts';

/** One thing wrong with a request, at a path such as `calls.0.arguments.amount`. */
export interface FieldError {
  readonly path: string;
  readonly message: string;
}

/** A "no" as a value: of the decider, or of what is checked before it. */
export interface Rejection {
  readonly code: ErrorCode;
  readonly detail: string;
  readonly extra?: Refusal['extra'];
  readonly errors?: readonly FieldError[];
}

/** What became of a command. `position` is where the log stood when it was done: a view that has reached it shows it. */
export type Outcome<T = undefined> =
  | { readonly status: 'done'; readonly value: T; readonly position: number }
  | { readonly status: 'rejected'; readonly rejection: Rejection };

/** A "no" as an outcome. */
export function rejected(
  code: ErrorCode,
  detail: string,
  more: Omit<Rejection, 'code' | 'detail'> = {},
): { readonly status: 'rejected'; readonly rejection: Rejection } {
  return { status: 'rejected', rejection: { code, detail, ...more } };
}

/** The answer to a token that requests in the name of an agent that is not its own. */
export function mayNotSpeakFor(agentId: string): { readonly status: 'rejected'; readonly rejection: Rejection } {
  return rejected(
    'forbidden',
    `this principal may not speak for the agent "${agentId}": leave agentId out, or have it listed in agentIds`,
  );
}

/** The answer to an id that is nobody's, or another tenant's: they cannot be told apart. */
export function noSuchCall(callId: string): { readonly status: 'rejected'; readonly rejection: Rejection } {
  return rejected('not-found', `there is no tool call ${callId}`);
}
