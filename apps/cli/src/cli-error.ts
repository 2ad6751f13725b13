import type { ExitCode } from './exit-codes.js';
import { exitCodeOfStatus, exitCodes } from './exit-codes.js';

/** RFC 9457 problem details, from the server or made here in the same form. `status` is 0 when no response came. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly [member: string]: unknown;
}

/** An end of a command other than success: for people a sentence and a remedy, for programs a problem document. */
export class CliError extends Error {
  constructor(
    readonly exitCode: ExitCode,
    readonly problem: Problem,
    /** The remedy; empty when there is none. */
    readonly remedy = '',
  ) {
    super(problem.detail);
    this.name = 'CliError';
  }
}

/** The error of a request that the server refused, with the server's own problem document. */
export function refusedError(problem: Problem, remedy = ''): CliError {
  return new CliError(exitCodeOfStatus(problem.status), problem, remedy);
}

/** An error of ours, in the form of a problem document without a status. */
export function localError(
  kind: 'usage' | 'unreachable' | 'unexpected' | 'forbidden' | 'refused' | 'notFound' | 'notReady',
  code: string,
  detail: string,
  remedy = '',
): CliError {
  const problem = { type: 'about:blank', title: code.replaceAll('-', ' '), status: 0, code, detail };
  return new CliError(exitCodes[kind], problem, remedy);
}

/** A command line that cannot be understood. */
export function usageError(detail: string, remedy = ''): CliError {
  return localError('usage', 'usage', detail, remedy);
}

/** Converts any thrown value to a CliError. */
export function toCliError(error: unknown): CliError {
  if (error instanceof CliError) return error;
  const detail = error instanceof Error ? error.message : String(error);
  return localError('unexpected', 'unexpected', detail);
}
