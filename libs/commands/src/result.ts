import type { ErrorCode, Refusal } from '@countersign/contracts';

/**
 * The result of a command. `position` is the log's position afterwards: a read model that has reached it shows the
 * result.
 */
export type Result<T = undefined> =
  | {
      readonly status: 'done';
      readonly value: T;
      readonly position: number;
      /** The trace of the call, where it is known. */
      readonly traceparent?: string | undefined;
    }
  | { readonly status: 'refused'; readonly refusal: Refusal };

/** A "no" as a result. */
export function refused(
  code: ErrorCode,
  detail: string,
  more: Omit<Refusal, 'code' | 'detail'> = {},
): { readonly status: 'refused'; readonly refusal: Refusal } {
  return { status: 'refused', refusal: { code, detail, ...more } };
}

/** The refusal for an unknown id or another tenant's id, which look the same. */
export function noSuchCall(callId: string): { readonly status: 'refused'; readonly refusal: Refusal } {
  return refused('not-found', `there is no tool call ${callId}`);
}
