import type { FieldError, Refusal } from '@countersign/contracts';
import { invalidRequest } from './step.conflicts.js';

/** What the check of a call's arguments against the schema of its tool found. */
export type ArgumentCheck =
  | { readonly status: 'valid' }
  | { readonly status: 'invalid'; readonly errors: readonly FieldError[] }
  /** The schema cannot be used, or it cannot be used for these arguments. */
  | { readonly status: 'refused'; readonly about: 'toolSchema' | 'arguments'; readonly message: string };

/** What is known about a call of a request before the log is read. */
export interface CheckedCall {
  readonly toolName: string;
  /** The service itself executes the tool. */
  readonly isServiceTool: boolean;
  /** The agent says that its client executes the call. */
  readonly clientExecuted: boolean;
  readonly check: ArgumentCheck;
}

/**
 * Refuses a request by what it says itself, without a look into the log: all errors of one kind at once, invalid requests
 * before arguments that do not fit their schema.
 */
export function refusedUnread(calls: readonly CheckedCall[]): Refusal | undefined {
  const found = calls.flatMap((call, index) => refusalOf(call, `calls.${String(index)}`) ?? []);
  const first = found.find(({ code }) => code === 'invalid-request') ?? found[0];
  const same = found.filter(({ code }) => code === first?.code);
  return first === undefined || same.length === 1
    ? first
    : { ...first, errors: same.flatMap(({ errors = [] }) => errors) };
}

function refusalOf({ toolName, isServiceTool, clientExecuted, check }: CheckedCall, path: string): Refusal | undefined {
  if (isServiceTool && clientExecuted) {
    const message = 'the service executes this tool, so no client can';
    return invalidRequest([{ path: `${path}.clientExecuted`, message }]);
  }
  switch (check.status) {
    case 'valid':
      return undefined;
    case 'refused':
      return invalidRequest([{ path: `${path}.${check.about}`, message: check.message }]);
    case 'invalid': {
      const errors = check.errors.map((one) => ({ ...one, path: joinPath(`${path}.arguments`, one.path) }));
      return { code: 'invalid-arguments', detail: `the arguments of "${toolName}" do not fit its schema`, errors };
    }
  }
}

function joinPath(base: string, rest: string): string {
  return rest === '' ? base : `${base}.${rest}`;
}
