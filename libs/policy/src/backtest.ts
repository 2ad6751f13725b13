import { deniedInCode } from '@countersign/contracts';
import type { BacktestSummary, ChangedCall, EventData, Requirement, Verdict } from '@countersign/contracts';
import { recordedCall } from './policy-call.js';
import type { Policy } from './policy.js';
import type { Judgement } from './ruling.js';

/** A recorded call and its first verdict. `requirement`: who was asked; null without an approval. */
export interface JudgedCall {
  readonly request: EventData<'ToolCallRequested'>;
  readonly verdict: Verdict;
  readonly requirement: Requirement | null;
}

/** A back-test in progress: calls go in one by one. */
export interface Backtest {
  /** Judges a recorded call at the time of its request. @returns what changes; undefined when nothing does. */
  readonly add: (judged: JudgedCall) => ChangedCall | undefined;
  readonly summary: () => BacktestSummary;
}

/** Compares a candidate with the verdicts that were recorded. `ruleIds`: its rules, to list those that judge nothing. */
export function createBacktest(candidate: Policy, ruleIds: readonly string[]): Backtest {
  const byRule = new Map(ruleIds.map((ruleId) => [ruleId, { calls: 0, changed: 0 }]));
  let [calls, changed] = [0, 0];
  const add = (judged: JudgedCall): ChangedCall | undefined => {
    const judgement = judgeAgain(candidate, judged);
    if (judgement === undefined) return undefined;
    const { ruleId } = judgement.verdict;
    const differs = differences(judged, judgement);
    const isChanged = differs.length > 0;
    const counted = byRule.get(ruleId) ?? { calls: 0, changed: 0 };
    byRule.set(ruleId, { calls: counted.calls + 1, changed: counted.changed + Number(isChanged) });
    calls += 1;
    changed += Number(isChanged);
    return isChanged ? toChange(judged, judgement.verdict, differs) : undefined;
  };
  const summary = (): BacktestSummary => ({
    ...{ calls, changed, policyVersion: candidate.version },
    rules: [...byRule].map(([ruleId, counted]) => ({ ruleId, ...counted })),
  });
  return { add, summary };
}

function judgeAgain(candidate: Policy, { request, verdict }: JudgedCall): Judgement | undefined {
  // The agent's code denies the call under any policy.
  const denied = verdict.ruleId === deniedInCode ? { deny: verdict.why.at(-1) ?? '' } : {};
  return candidate.judge([{ ...recordedCall(request), ...denied }], Date.parse(request.requestedAt))[0];
}

/**
 * The members whose changes people and agents would notice. Durations and decisions are left out: a request may narrow
 * them.
 */
const compared = [
  ...(['stages', 'fourEyes', 'requireReason', 'minAssurance', 'risk', 'onTimeout', 'escalation'] as const),
  ...(['businessHours', 'batch', 'denyEndsRun', 'requireCheckedSchema', 'requireSignature'] as const),
];

/** Names what differs between two judgements of a call; empty when nothing does. */
export function differences(
  { verdict, requirement }: Pick<JudgedCall, 'verdict' | 'requirement'>,
  after: Judgement,
): string[] {
  if (verdict.outcome !== after.verdict.outcome) return ['outcome'];
  if (requirement === null || verdict.outcome !== 'require') return [];
  return compared.filter((key) => JSON.stringify(requirement[key]) !== JSON.stringify(after.requirement[key]));
}

function toChange({ request, verdict }: JudgedCall, after: Verdict, differs: string[]): ChangedCall {
  const { callId, runId, agentId, toolName, requestedAt } = request;
  const before = { outcome: verdict.outcome, ruleId: verdict.ruleId };
  const now = { outcome: after.outcome, ruleId: after.ruleId };
  return { callId, runId, agentId, toolName, requestedAt, before, after: now, differs, why: [...after.why] };
}
