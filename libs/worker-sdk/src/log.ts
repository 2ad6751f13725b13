/**
 * The worker's log, for facts that no result contains: one sentence for people, fields for programs. Never arguments or
 * tokens.
 */
export interface WorkerLog {
  readonly warn: (fields: Readonly<Record<string, unknown>>, message: string) => void;
  readonly error: (fields: Readonly<Record<string, unknown>>, message: string) => void;
}

/** Logs nothing. */
export const silentLog: WorkerLog = { warn: () => undefined, error: () => undefined };
