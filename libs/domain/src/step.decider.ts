import type { ChainLink, FieldError, Refusal } from '@countersign/contracts';
import { assert } from './assert.js';
import { refusalOfFields } from './decider.js';
import type { UseGrant } from './grant.decider.js';
import type { CheckedCall, JudgedCall, StepCall, StepFacts, StepLimits, StepParent } from './step.facts.js';
import { coverByGrants } from './step.grants.js';
import type { CoveredCall } from './step.grants.js';
import { noApproverLeft, overQuota, uncheckedSchema } from './step.questions.js';
import { askedWithStep, joinedByRule, splitBatch, tooManyMembers } from './tool-call.batch.js';
import type { RequestToolCall, ToolCallProposal } from './tool-call.commands.js';
import type { Judgement } from './tool-call.command-base.js';
import { blockReason, compareRepeat, insideCancelled, stoppedBy } from './tool-call.request.js';
import type { Repeat } from './tool-call.request.js';
import type { ToolCall } from './tool-call.state.js';

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
  const covered = askedWithStep(calls, coverNew(calls, repeats, at));
  const asked = calls.map((call, index) => ({ ...call, judged: withoutGrant(call.judged, covered[index]) }));
  const unchecked = notChecked(asked, repeats);
  if (unchecked !== undefined) return refuse(unchecked);
  const proposals = joinedByRule(asked, limits);
  if ('code' in proposals) return refuse(proposals);
  const noApprover = noApproverLeft(
    asked.map((call, index) => ({ ...call, isAddition: repeats[index] !== 'equal' })),
    approvers,
  );
  if (noApprover !== undefined) return refuse(noApprover);
  const isAsked = (index: number): boolean =>
    repeats[index] !== 'equal' && covered[index]?.judged.verdict.outcome === 'require';
  const questions = quotas?.questions ?? [];
  assert(quotas === null || questions.length === calls.length, 'each call is a question of the quotas');
  const over = overQuota(
    quotas,
    questions.filter((_, index) => isAsked(index)),
    at,
  );
  if (over !== undefined) return refuse(over);
  const all = decided(facts, repeats, proposals, covered);
  const held = heldByStop(all, facts);
  return held === undefined ? { status: 'accepted', calls: all } : refuse(held);
}

/** A repeat that records nothing is answered as ever: its call is held back at its claim. */
function heldByStop(all: readonly (DecidedCall | null)[], { stopsOver }: StepFacts): Refusal | undefined {
  assert(stopsOver.length === all.length, 'the stops over each call are known');
  return stoppedBy(stopsOver.filter((_, index) => all[index] !== null).flat());
}

function coverNew(calls: StepFacts['calls'], repeats: readonly (Repeat | 'new')[], at: number): readonly CoveredCall[] {
  return coverByGrants(
    calls.map((call, index) => ({ ...call, grants: repeats[index] === 'new' ? call.grants : [] })),
    at,
  );
}

/** The rules that hold for a question hold for a call that a grant covers as well. */
function withoutGrant(judged: JudgedCall, covered: CoveredCall | undefined): JudgedCall {
  return covered?.judged.verdict.outcome === 'require' ? covered.judged : judged;
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
  return errors.length === 0 ? undefined : refusalOfFields('invalid-request', errors);
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
export function toJudgement({ verdict, requirement, isExpiryOpen }: JudgedCall): Judgement {
  switch (verdict.outcome) {
    case 'allow':
      return { outcome: 'allow', verdict };
    case 'require':
      return { outcome: 'require', verdict, requirement, ...(isExpiryOpen === true && { isExpiryOpen }) };
    case 'block':
      return { outcome: 'block', verdict, reason: blockReason(verdict) };
  }
}

/** The calls around a call inside this parent, the outermost first. That of the parent was recorded with it. */
export function chainInside({ call }: Pick<StepParent, 'call'>): readonly ChainLink[] {
  return call === undefined ? [] : [...(call.request.chain ?? []), linkOf(call)];
}

function linkOf({ request }: ToolCall): ChainLink {
  const { callId, agentId, toolName, runId, requestedBy, owner, onBehalfOf } = request;
  const people = { ...(owner !== undefined && { owner }), ...(onBehalfOf !== undefined && { onBehalfOf }) };
  return { callId, agentId, toolName, runId, requestedBy, ...people };
}

/** Refuses parents that are not recorded in the tenant, and calls that are nested too deep. */
function nestingRefusal(calls: readonly StepCall[], limits: StepLimits): Refusal | undefined {
  const errors = calls.flatMap(({ parent, proposal }, index): FieldError[] => {
    const message = parent === null ? undefined : problemOf(parent, proposal.callId, limits);
    return message === undefined ? [] : [{ path: `calls.${String(index)}.parentCallId`, message }];
  });
  return errors.length === 0 ? undefined : refusalOfFields('invalid-request', errors);
}

function problemOf(parent: StepParent, callId: string, { nestingMax }: StepLimits): string | undefined {
  if (parent.callId === callId) return 'is this call itself';
  if (parent.call === undefined) return 'is not a recorded tool call: record the parent first';
  const isTooDeep = chainInside(parent).length > nestingMax;
  return isTooDeep ? `has ${String(nestingMax)} calls around it, and no more are possible` : undefined;
}

/** How a call compares with what is recorded under its id. */
function repeatOf(call: Pick<StepCall, 'proposal' | 'judged' | 'state'>): Repeat | 'new' {
  return call.state.status === 'recorded' ? compareRepeat(call, call.state) : 'new';
}

/** Why the log does not allow these calls: one is recorded otherwise, or would run inside a call that was cancelled. */
function conflictOf(calls: readonly StepCall[], repeats: readonly (Repeat | 'new')[]): Refusal | undefined {
  for (const [index, repeat] of repeats.entries()) {
    if (typeof repeat === 'object') return mismatch(calls[index], repeat);
  }
  const isInsideCancelled = calls.some(({ parent }, index) => repeats[index] === 'new' && parent?.isCancelled === true);
  return isInsideCancelled ? insideCancelled : undefined;
}

function mismatch(call: StepCall | undefined, repeat: Exclude<Repeat, string>): Refusal {
  const why = repeat.status === 'refused' ? repeat.refusal.detail : '';
  const detail = `tool call "${call?.proposal.toolCallId ?? ''}" of this run: ${why} Give a new call a new toolCallId.`;
  return { code: 'tool-call-mismatch', detail };
}

/** Refuses a request for another principal's agent. `speaksFor`: the principal is that agent, or its token names it. */
export function mayNotSpeakFor(agentId: string, { speaksFor }: { readonly speaksFor: boolean }): Refusal | undefined {
  if (speaksFor) return undefined;
  const remedy = 'leave agentId out, or have it listed in agentIds';
  return { code: 'forbidden', detail: `this principal may not speak for the agent "${agentId}": ${remedy}` };
}

/**
 * Refuses a request by what it says itself, without a look into the log: all errors of one kind at once, invalid requests
 * before arguments that do not fit their schema.
 */
export function refusedUnread(calls: readonly CheckedCall[]): Refusal | undefined {
  const found = calls.flatMap((call, index) => refusalOf(call, `calls.${String(index)}`) ?? []);
  const first = found.find(({ code }) => code === 'invalid-request') ?? found[0];
  const same = found.filter(({ code }) => code === first?.code);
  return first === undefined || same.length === 1
    ? first
    : { ...first, errors: same.flatMap(({ errors = [] }) => errors) };
}

function refusalOf({ toolName, isServiceTool, clientExecuted, check }: CheckedCall, path: string): Refusal | undefined {
  if (isServiceTool && clientExecuted) {
    const message = 'the service executes this tool, so no client can';
    return refusalOfFields('invalid-request', [{ path: `${path}.clientExecuted`, message }]);
  }
  switch (check.status) {
    case 'valid':
      return undefined;
    case 'refused':
      return refusalOfFields('invalid-request', [{ path: `${path}.${check.about}`, message: check.message }]);
    case 'invalid': {
      const errors = check.errors.map((one) => ({ ...one, path: joinPath(`${path}.arguments`, one.path) }));
      return { code: 'invalid-arguments', detail: `the arguments of "${toolName}" do not fit its schema`, errors };
    }
  }
}

function joinPath(base: string, rest: string): string {
  return rest === '' ? base : `${base}.${rest}`;
}
