import type { EventData, Requirement, Verdict } from '@countersign/contracts';
import { digestOf } from '../legality/digests.js';
import type { ApprovalState, CallState } from '../legality/call-state.js';
import { isOfVersion1 } from '../legality/judged-event.js';
import type { JudgedEvent } from '../legality/judged-event.js';

/** A verdict about a call, as an event records it. */
export interface Citation {
  readonly verdict: Verdict;
  /** What people are asked by it; null: it is not recorded, or nothing is asked. */
  readonly requirement: Requirement | null;
  /**
   * `request`: of the agent, who may wish for less; `edit`: of a person; `same-rule`, `as-request`: of an edit that asks as the request
   * did, by its rule or by another one, such as the same one of a later policy; `older-edit`: of schema version 1, which recorded the requirements of the request and of the edit as one; `turn`: of a sequential
   * call, at its turn.
   */
  readonly by: 'request' | 'edit' | 'same-rule' | 'as-request' | 'older-edit' | 'turn';
  /** It is the first word about the call, given together with its step. */
  readonly isFirst: boolean;
}

/** The verdict that an event gives of its call; undefined: it gives none, or repeats the one of a place in the queue. */
export function citationOf(event: JudgedEvent, call: CallState): Citation | undefined {
  const { type, data } = event;
  switch (type) {
    case 'ToolCallAllowed':
    case 'ToolCallBlocked':
    case 'ApprovalRequested':
      return isAsQueued(data as Judged, call)
        ? undefined
        : ofRequest(data as Judged, call, call.queued === null ? 'request' : 'turn');
    case 'ToolCallQueued': {
      const { verdict, question } = data as EventData<'ToolCallQueued'>;
      const judged = { verdict, ...(question !== null && { requirement: question.requirement }) };
      return call.queued?.next === 'require' ? undefined : ofRequest(judged, call, 'request');
    }
    case 'ApprovalResponded':
      return ofEdit(event, call);
    default:
      return undefined;
  }
}

interface Judged {
  readonly verdict: Verdict;
  readonly requirement?: Requirement;
}

/** At its turn a call is allowed or asked about as its place says, whose verdict was compared with the policy. */
function isAsQueued(judged: Judged, { queued }: CallState): boolean {
  if (queued === null) return false;
  const { verdict, approvalId, round, requirement, requestedBy } = judged as EventData<'ApprovalRequested'>;
  const bound = queued.next === 'allow' ? verdict : { verdict, approvalId, round, requirement, requestedBy };
  return digestOf(bound) === queued.bound;
}

/** Another verdict at the turn of a call asks what its place asks as well. */
function ofRequest(
  { verdict, requirement }: Judged,
  { isJudged, queued }: CallState,
  by: 'request' | 'turn',
): Citation {
  return { verdict, requirement: requirement ?? null, by, isFirst: !isJudged && queued === null };
}

function ofEdit(event: JudgedEvent, { approval }: CallState): Citation | undefined {
  const { decision } = event.data as EventData<'ApprovalResponded'>;
  if (decision.type !== 'edit' || approval === null) return undefined;
  const { verdict, requirement } = decision;
  const { requirements } = approval.proposal;
  // Null: no person is asked, or as they were asked about the request, in version 1 as about the edit before.
  const before = requirements.at(decision.keepsRequirements === true ? -1 : 0) ?? null;
  return {
    verdict,
    requirement: verdict.outcome === 'require' ? (requirement ?? before) : requirement,
    by: isOfVersion1(event) ? 'older-edit' : byOf(decision, approval),
    isFirst: false,
  };
}

function byOf({ verdict, requirement }: Edit, { judgedBy: { ruleId, policyVersion } }: ApprovalState) {
  const isSame = verdict.ruleId === ruleId && verdict.policyVersion === policyVersion;
  if (requirement !== null) return 'edit';
  return isSame ? 'same-rule' : 'as-request';
}

type Edit = Extract<EventData<'ApprovalResponded'>['decision'], { readonly type: 'edit' }>;
