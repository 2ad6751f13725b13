import type { Refusal } from '@countersign/contracts';
import { assert } from './assert.js';
import type { UseGrant } from './grant.decider.js';
import { noApproverLeft } from './step.approvers.js';
import { joinedByRule, splitBatch, tooManyMembers } from './step.batch.js';
import { uncheckedSchema } from './schema-check.js';
import { conflictOf, invalidRequest, nestingRefusal, repeatOf } from './step.conflicts.js';
import type { JudgedCall, StepFacts } from './step.facts.js';
import { coverByGrants } from './step.grants.js';
import type { CoveredCall } from './step.grants.js';
import { overQuota } from './step.quotas.js';
import type { Judgement, RequestToolCall, ToolCallProposal } from './tool-call.commands.js';
import { blockReason } from './tool-call.request.js';
import type { Repeat } from './tool-call.repeat.js';

/** A call that is to be recorded. */
export interface DecidedCall {
  readonly command: RequestToolCall;
  /** The use of a grant that MUST be taken before the call is recorded. If it is lost, the request is decided again. */
  readonly use: (UseGrant & { readonly grantId: string }) | null;
}

/** The decision about a request: refused as a whole, or for each of its calls what to record; null: nothing. */
export type StepDecision =
  | { readonly status: 'refused'; readonly refusal: Refusal }
  | { readonly status: 'accepted'; readonly calls: readonly (DecidedCall | null)[] };

/**
 * The rule of a request: whether the calls of one model step are recorded, as which batch, and which grants cover them. Each
 * call's own stream then decides once more on its command.
 */
export function decideStep(facts: StepFacts): StepDecision {
  const { calls, limits, approvers, quotas, at } = facts;
  const repeats = calls.map(repeatOf);
  const conflict = againstTheLog(facts, repeats);
  if (conflict !== undefined) return refuse(conflict);
  const unchecked = notChecked(calls, repeats);
  if (unchecked !== undefined) return refuse(unchecked);
  const proposals = joinedByRule(calls, limits);
  if ('code' in proposals) return refuse(proposals);
  const noApprover = noApproverLeft(
    calls.map((call, index) => ({ ...call, isAddition: repeats[index] !== 'equal' })),
    approvers,
  );
  if (noApprover !== undefined) return refuse(noApprover);
  const covered = coverByGrants(
    calls.map((call, index) => ({ ...call, grants: repeats[index] === 'new' ? call.grants : [] })),
    at,
  );
  const isAsked = (index: number): boolean =>
    repeats[index] !== 'equal' && covered[index]?.judged.verdict.outcome === 'require';
  const questions = quotas?.questions ?? [];
  assert(quotas === null || questions.length === calls.length, 'each call is a question of the quotas');
  const over = overQuota(
    quotas,
    questions.filter((_, index) => isAsked(index)),
    at,
  );
  return over === undefined ? { status: 'accepted', calls: decided(facts, repeats, proposals, covered) } : refuse(over);
}

/** Why these calls do not fit to each other, or to what is recorded. */
function againstTheLog(
  { calls, limits, inBatch }: StepFacts,
  repeats: readonly (Repeat | 'new')[],
): Refusal | undefined {
  return (
    tooManyMembers(calls, limits) ??
    nestingRefusal(calls, limits) ??
    conflictOf(calls, repeats) ??
    splitBatch(calls, inBatch)
  );
}

/** The calls whose schema is not checked whole although their rule demands it. */
function notChecked(calls: StepFacts['calls'], repeats: readonly (Repeat | 'new')[]): Refusal | undefined {
  const errors = calls.flatMap(({ judged, proposal }, index) => {
    const isAsked = judged.verdict.outcome === 'require' && repeats[index] !== 'equal';
    const message = isAsked ? uncheckedSchema(judged.requirement, proposal) : undefined;
    return message === undefined ? [] : [{ path: `calls.${String(index)}.toolSchema`, message }];
  });
  return errors.length === 0 ? undefined : invalidRequest(errors);
}

function refuse(refusal: Refusal): StepDecision {
  return { status: 'refused', refusal };
}

function decided(
  { calls, at }: StepFacts,
  repeats: readonly (Repeat | 'new')[],
  proposals: readonly ToolCallProposal[],
  covered: readonly CoveredCall[],
): readonly (DecidedCall | null)[] {
  return calls.map(({ approvalId }, index) => {
    const [call, cover] = [proposals[index], covered[index]];
    assert(call !== undefined && cover !== undefined, 'each call has a proposal and a verdict');
    if (repeats[index] === 'equal') return null;
    const { callId, runId } = call;
    const { judged, grantId } = cover;
    return {
      command: { type: 'RequestToolCall', at, call, judgement: toJudgement(judged), approvalId },
      use: grantId === null ? null : { type: 'UseGrant', at, callId, runId, grantId },
    };
  });
}

/** The policy's verdict in the form of a command. */
export function toJudgement({ verdict, requirement }: JudgedCall): Judgement {
  switch (verdict.outcome) {
    case 'allow':
      return { outcome: 'allow', verdict };
    case 'require':
      return { outcome: 'require', verdict, requirement };
    case 'block':
      return { outcome: 'block', verdict, reason: blockReason(verdict) };
  }
}
