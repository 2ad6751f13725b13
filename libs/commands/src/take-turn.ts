import { approvalIdOf, grantStream } from '@countersign/contracts';
import { coverByGrants, isErased, nextRound, queuedIn, toJudgement, toolCallRules } from '@countersign/domain';
import type { Judgement, TakeTurn, ToolCall } from '@countersign/domain';
import { budgetOfRequest, recordedCall, together } from '@countersign/policy';
import type { Judgement as JudgedCall } from '@countersign/policy';
import { inReach } from './grants/grant-facts.js';
import type { CommandPorts } from './ports.js';
import { approversOf } from './request/approvers.js';
import { judgeRecorded } from './request/judge-recorded.js';
import { stopped, whenStopsKnown } from './stops/stopped.js';
import { forbidden } from './stream/forbidden.js';
import { withToolCall } from './stream/with-tool-call.js';
import type { Refused } from './stream/with-tool-call.js';

/** The turn of a call, as some prefix of the log shows it. */
export interface SeenTurn {
  readonly tenant: string;
  readonly callId: string;
  /** The round of a question about the call at its place. */
  readonly round: number;
  /** The call whose denial has ended the run since this one began to wait. Default: none. */
  readonly endedBy?: string;
}

/**
 * Records that the turn of a sequential call has come: it is judged again, and allowed, asked about or blocked; or it is cancelled, where the
 * denial of `endedBy` has ended its run since it began to wait. MUST be given only for the first call of its queue that is not
 * settled, as some prefix of the log shows it, with `round` and `endedBy` of the same prefix. Harmless to repeat. Returns the position
 * of the log afterwards; null: the call, its policy or the cancellation of its run cannot be read.
 */
export async function takeTurn(ports: CommandPorts, seen: SeenTurn): Promise<number | null> {
  const { tenant, callId } = seen;
  const target = { tenant, callId, commandId: ports.ids.uuid() };
  const outcome = await withToolCall(ports, target, toolCallRules.takeTurn, (call) => toTurn(ports, call, seen));
  return outcome.status === 'done' ? outcome.position : null;
}

function toTurn(
  ports: CommandPorts,
  call: ToolCall,
  { callId, round, endedBy }: SeenTurn,
): TakeTurn | Refused | Promise<TakeTurn | Refused> {
  const turn = { type: 'TakeTurn', round, approvalId: approvalIdOf(callId, round) } as const;
  const end = (): TakeTurn => ({ ...turn, at: ports.clock.now(), judgement: null, ...(endedBy && { endedBy }) });
  const isNothing = queuedIn(call) === undefined || nextRound(call) !== round;
  if (isNothing || endedBy !== undefined || isErased(call)) return end();
  return whenStopsKnown<TakeTurn | Refused>(ports, call.request.tenant, () => {
    const prohibited = stopped(ports, call.request) ?? forbidden(ports, call.request, 'judge');
    return prohibited ?? toJudgedTurn(ports, call, turn);
  });
}

function toJudgedTurn(
  ports: CommandPorts,
  call: ToolCall,
  turn: Pick<TakeTurn, 'type' | 'round' | 'approvalId'>,
): TakeTurn | Promise<TakeTurn> {
  const approvers = approversOf(ports, call.request.tenant, [call.request]);
  const judged = (judgement: Judgement): TakeTurn => ({
    ...{ ...turn, at: ports.clock.now(), judgement },
    ...(approvers !== null && { approvers }),
  });
  const { grantId } = call.verdict ?? {};
  return grantId === undefined ? judged(judgeAgain(ports, call)) : judgeCovered(ports, call, grantId).then(judged);
}

/** The verdict of the policy in force, with what was required when the call was queued. */
function judgeAgain(ports: CommandPorts, call: ToolCall): Judgement {
  const question = queuedIn(call)?.question ?? null;
  if (question === null) return toJudgement(judgeRecorded(ports, call, {}));
  // That the worker asks for people was counted when the call was queued: a policy that is laxer now changes nothing.
  const judged = judgeRecorded(ports, call, { needsApproval: false });
  const { verdict, requirement } = judged;
  if (verdict.outcome === 'allow') return toJudgement(judged);
  const both = together([question.requirement, requirement], recordedCall(call.request));
  const why = [
    ...verdict.why,
    `together with what "${call.verdict?.ruleId ?? ''}" required when the call was requested`,
  ];
  return toJudgement({ verdict: verdict.outcome === 'require' ? { ...verdict, why } : verdict, requirement: both });
}

/**
 * The same for a call that a grant covered: people are asked unless the grant is still in force and would cover the call now. A policy
 * that changed meanwhile judges it once more.
 */
async function judgeCovered(ports: CommandPorts, call: ToolCall, grantId: string): Promise<Judgement> {
  const { tenant } = call.request;
  for (;;) {
    const policy = ports.policies.of(tenant);
    const judged = judgeRecorded(ports, call, { needsApproval: true });
    const isCovered = judged.verdict.outcome === 'require' && (await isStillCovered(ports, call, grantId, judged));
    if (ports.policies.of(tenant) !== policy) continue;
    if (isCovered && call.verdict !== null) return { outcome: 'allow', verdict: call.verdict };
    const why = [...judged.verdict.why, `the grant ${grantId} covers it no longer`];
    return toJudgement({ ...judged, verdict: { ...judged.verdict, why } });
  }
}

async function isStillCovered(
  ports: CommandPorts,
  { request: proposal }: ToolCall,
  grantId: string,
  judged: JudgedCall,
): Promise<boolean> {
  if (ports.grants === undefined) return false;
  const { state: grant, unreadable } = await ports.grants.handler.look(grantStream(grantId));
  if (unreadable !== undefined || grant.status === 'unknown' || !grant.callIds.includes(proposal.callId)) return false;
  const at = ports.clock.now();
  const policyCall = recordedCall(proposal);
  const asked = { proposal, policyCall, requirement: judged.requirement };
  const grants = await inReach(ports, asked, judged, [grant], { calls: 1, budget: { left: budgetOfRequest }, at });
  const [covered] = coverByGrants([{ proposal, judged, grants }], at);
  return covered?.grantId === grantId;
}
