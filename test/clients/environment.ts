import type { Installation } from '../process/harness/standalone.ts';

/** What a journey reads: the server, the tokens, and a run of its own. */
export type Environment = Readonly<Record<string, string>>;

/** Returns what a journey with this run reads. */
export function environmentOf({ port, tokens }: Installation, runId: string): Environment {
  return {
    COUNTERSIGN_URL: `http://127.0.0.1:${String(port)}`,
    AGENT_TOKEN: tokens.agent,
    PERSON_TOKEN: tokens.me,
    WORKER_TOKEN: tokens.worker,
    RUN_ID: runId,
  };
}

/** What each journey prints. */
export const printed = { state: 'approved', problem: 'already-resolved', covered: 1, grant: 'active' };
