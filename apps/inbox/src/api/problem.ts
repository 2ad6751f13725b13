/** RFC 9457 problem details, as every refusal comes. */
export interface Problem {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly errors?: readonly { readonly path: string; readonly message: string }[];
  readonly [name: string]: unknown;
}

/** The server said no. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

/** The server did not answer at all, or not in a way that one can read. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

/** Whether the same request may get an answer in a moment: the server is away, restarting, behind or overrun. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof ProblemError)) return error instanceof UnreachableError;
  return error.problem.status >= 500 || error.problem.status === 429;
}

/** Why something failed, as a problem: one shape for whoever shows it. */
export function problemOf(error: unknown): Problem {
  if (error instanceof ProblemError) return error.problem;
  return {
    status: 0,
    code: 'unreachable',
    detail: 'Countersign did not answer. Nothing is known of what was sent: look before you try again.',
  };
}
