import { CountersignError, gateRemedy, withRemedy } from '@countersign/worker-sdk';
import { ErrorCode } from '@modelcontextprotocol/sdk/types.js';
import type { AnswerCall } from '../client/client-call.js';
import { runsMax } from './task-runs.js';

/** A request that has no reply but this error. */
export class Refused extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
  ) {
    super(message);
  }
}

/** The error for one task more than a connection may have. */
export function tooManyTasks(): Refused {
  const message = `This connection has ${String(runsMax)} tasks that are not finished, which is the limit. Wait for one to finish, or cancel one.`;
  return new Refused(ErrorCode.InternalError, message);
}

/** A request about a task never has a tool result as its error. */
export function guarded(answer: AnswerCall): AnswerCall {
  return async (call) => {
    try {
      return await answer(call);
    } catch (error) {
      return { error: errorOf(error) };
    }
  };
}

function errorOf(error: unknown): { readonly code: number; readonly message: string } {
  if (error instanceof Refused) return { code: error.code, message: error.message };
  if (!(error instanceof CountersignError)) {
    return { code: ErrorCode.InternalError, message: error instanceof Error ? error.message : String(error) };
  }
  if (error.code === 'not-found') return { code: ErrorCode.InvalidParams, message: 'Task not found' };
  const isAsked = error.code === 'invalid-request';
  const code = isAsked ? ErrorCode.InvalidParams : ErrorCode.InternalError;
  return { code, message: withRemedy(error.message, gateRemedy(error.code)) };
}
