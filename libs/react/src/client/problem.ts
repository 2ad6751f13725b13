/** RFC 9457 problem details, the form of every refusal. */
export interface Problem {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly errors?: readonly { readonly path: string; readonly message: string }[];
  readonly [name: string]: unknown;
}

/** The server refused. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

/** The server did not respond, or its response is unreadable. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

/** Returns whether the same request may succeed soon: the server is unreachable, restarting, behind or overloaded. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof ProblemError)) return error instanceof UnreachableError;
  return error.problem.status >= 500 || error.problem.status === 429;
}

/** Converts a failure to a problem, one shape for every view. */
export function problemOf(error: unknown): Problem {
  if (error instanceof ProblemError) return error.problem;
  return {
    status: 0,
    code: 'unreachable',
    detail: 'Countersign did not respond. It is unknown whether the request was carried out: check before you retry.',
  };
}
