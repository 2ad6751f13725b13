import { backoffMs } from '@countersign/contracts';
import { sleep } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';
import type { ReportedOutcome } from './executions.js';
import type { Tool, ToolOutcome, ToolRun } from './tools/tool.js';

const toolBackoff = { firstMs: 1_000, maxMs: 8_000 };

/** The result of an execution after all its tries. */
export type FinalOutcome = ReportedOutcome | { readonly status: 'unknown'; readonly reason: string };

export interface RunOptions {
  readonly tool: Tool;
  readonly run: ToolRun;
  /** Both the tools file and the request say so. */
  readonly idempotent: boolean;
  /** Returns whether a try may begin: the claim still holds. */
  readonly mayTry: () => boolean;
  readonly clock: Clock;
}

/** The number of attempts per claim, with pauses of 1, 2, 4 and 8 seconds between them. */
const triesMax = 5;

/**
 * Runs a tool until its outcome is known. It retries requests that were certainly not sent and, for idempotent tools,
 * also those that may have been executed, with the same idempotency key. A try that may have been executed never
 * becomes a failure.
 */
export async function runTool(options: RunOptions): Promise<FinalOutcome> {
  const { tool, run, idempotent, mayTry, clock } = options;
  // The outcome of the earlier attempts is unknown, because otherwise there would be no further attempt.
  let mayHaveRun = run.attempt > 1;
  let last: Unsettled = { status: 'not-sent', code: 'not-run', message: 'the claim was over before the tool was run' };
  for (let tries = 1; tries <= triesMax; tries += 1) {
    if (tries > 1) await sleep(clock, backoffMs(tries - 1, toolBackoff), run.signal);
    if (!mayTry()) break;
    const outcome = await tool.run(run);
    if (outcome.status === 'succeeded' || outcome.status === 'failed') return outcome;
    last = outcome;
    if (outcome.status === 'unknown') mayHaveRun = true;
    if (isLastTry(outcome, idempotent)) break;
  }
  return conclude(last, mayHaveRun, idempotent);
}

type Unsettled = Exclude<ToolOutcome, { status: 'succeeded' | 'failed' }>;

function isLastTry({ status }: Unsettled, idempotent: boolean): boolean {
  // A tool that timed out may still run, and two runs at once are not what idempotent promises.
  return status === 'refused' || status === 'timed-out' || (status === 'unknown' && !idempotent);
}

function conclude(last: Unsettled, mayHaveRun: boolean, idempotent: boolean): FinalOutcome {
  if (last.status === 'timed-out' && idempotent) {
    return { status: 'failed', error: { code: 'tool-timeout', message: last.message, mayHaveRun: true } };
  }
  if (last.status === 'refused' || (last.status === 'not-sent' && !mayHaveRun)) {
    const { code, message } = last;
    return { status: 'failed', error: { code, message, ...(mayHaveRun ? { mayHaveRun } : {}) } };
  }
  return { status: 'unknown', reason: last.message };
}
