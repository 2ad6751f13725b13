import type { Execution } from '../traffic/journal.js';
import { digestOf } from './digest.js';
import type { CallEvent } from './log.js';
import type { CallHistory, Histories } from './rules.js';

type Claimed = CallEvent & { type: 'ExecutionClaimed' };

/** Compares the executions with the log: each had a claim before, and a tool that may run once ran at most once. */
export function executionComplaints(executions: readonly Execution[], histories: Histories): readonly string[] {
  const byCall = Map.groupBy(executions, ({ callId }) => callId);
  const complaints = [...byCall].flatMap(([callId, runs]) => {
    const history = histories.get(callId);
    if (history === undefined) return [`${callId} ran and is not in the log`];
    return [...runs.flatMap((run) => uncovered(run, history)), ...repetitions(runs, history)];
  });
  return [...complaints, ...[...histories.values()].flatMap((history) => invented(history, byCall))];
}

function claimsOf({ events }: CallHistory): readonly Claimed[] {
  return events.filter((event): event is Claimed => event.type === 'ExecutionClaimed');
}

/** A claim of these very arguments must have been recorded before the tool ran. */
function uncovered(run: Execution, history: CallHistory): readonly string[] {
  const request = history.standings[0]?.request;
  if (request === undefined) return [];
  const digest = digestOf(request, run.arguments);
  const isCovered = claimsOf(history).some(
    ({ data }) =>
      data.actionDigest === digest &&
      (run.attempt === null || data.attempt === run.attempt) &&
      Date.parse(data.claimedAt) <= run.atMs,
  );
  const what = `${run.callId} ran (by ${run.by}, attempt ${run.attempt ?? 'unknown'})`;
  return isCovered ? [] : [`${what} without a claim of these arguments recorded before`];
}

function repetitions(runs: readonly Execution[], { callId, standings }: CallHistory): readonly string[] {
  const last = standings.at(-1);
  if (last === undefined) return [];
  const complaints: string[] = [];
  if (new Set(runs.map(({ idempotencyKey }) => idempotencyKey)).size > 1) {
    complaints.push(`${callId} ran under several idempotency keys`);
  }
  const mayRun = 1 + last.retries;
  if (!last.request.idempotent && runs.length > mayRun) {
    complaints.push(`${callId} is not idempotent and ran ${runs.length} times, ${mayRun} allowed`);
  }
  const byWorkers = runs.filter(({ by }) => by === 'worker').map(({ attempt }) => attempt);
  if (new Set(byWorkers).size < byWorkers.length) complaints.push(`${callId} ran twice under one claim`);
  return complaints;
}

/** A success that a resolver reported is of a tool that did run. */
function invented({ callId, events }: CallHistory, runs: ReadonlyMap<string, unknown>): readonly string[] {
  const isReported = events.some(
    (event) => event.type === 'ExecutionSucceeded' && event.data.executedBy === 'resolver',
  );
  return isReported && !runs.has(callId) ? [`${callId} is recorded as succeeded and never ran`] : [];
}
