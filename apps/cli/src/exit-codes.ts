/** The exit codes of every command. They are stable: scripts branch on them. */
export const exitCodes = {
  ok: 0,
  unexpected: 1,
  usage: 2,
  unreachable: 3,
  forbidden: 4,
  refused: 5,
  notFound: 6,
  notReady: 7,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The exit codes as `--help` explains them. */
export const exitCodesHelp = `Exit codes:
  0  done
  1  unexpected: a fault of the server or of this program (audit: a finding)
  2  usage: the command line cannot be understood (store: no server to ask)
  3  the server cannot be reached
  4  not signed in, or not allowed
  5  refused: already answered, expired, invalid, a reason is missing, …
  6  there is no such approval, call, run or file
  7  not ready, or too busy: try again later
  130  interrupted by Ctrl-C`;

/** Returns the exit code for the HTTP status of a refused request. */
export function exitCodeOfStatus(status: number): ExitCode {
  if (status === 401 || status === 403) return exitCodes.forbidden;
  if (status === 404) return exitCodes.notFound;
  if (status === 429 || status === 502 || status === 503 || status === 504) return exitCodes.notReady;
  return status >= 400 && status < 500 ? exitCodes.refused : exitCodes.unexpected;
}
