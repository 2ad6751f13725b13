import { createHttpClient, NoAnswerError } from '@countersign/http-client';
import type { ApprovalsClient } from './approvals-client.js';
import { ProblemError, UnreachableError } from './problem.js';
import type { Problem } from './problem.js';

/** Where the handler of the application is. */
export interface ApprovalsClientOptions {
  /** The path under which the application has mounted `approvalsHandler`, such as `/api/approvals`. */
  readonly url: string;
  /** Default: the `fetch` of the browser, with the cookies of the page. */
  readonly fetch?: typeof fetch | undefined;
}

const timeoutMs = 20_000;

/**
 * Creates the client of a page: its requests go through the server of the application, which knows the person.
 *
 * @example
 * const client = createApprovalsClient({ url: '/api/approvals' });
 */
export function createApprovalsClient({ url, fetch }: ApprovalsClientOptions): ApprovalsClient {
  const http = createHttpClient({ base: url.replace(/\/$/, ''), ...(fetch !== undefined && { fetch }) });
  return {
    send: async (method, path, { body, signal } = {}) => {
      const answer = await http.send({ method, path, body, signal, timeoutMs }).catch(orUnreachable);
      if (answer.ok) return answer.body as never;
      const problem = answer.body as Problem | undefined;
      if (typeof problem?.code === 'string') throw new ProblemError(problem);
      throw new UnreachableError(`answered ${String(answer.status)}`);
    },
  };
}

function orUnreachable(error: unknown): never {
  throw error instanceof NoAnswerError ? new UnreachableError('no answer', { cause: error.cause }) : error;
}
