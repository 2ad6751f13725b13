import type { Requirement, Risk, Verdict } from '@countersign/contracts';
import { fold } from './decider.js';
import { reaches } from './requirement.js';
import type { Responder, ToolCallProposal } from './tool-call.commands.js';
import { toolCallDecider } from './tool-call.decider.js';
import { currentApproval } from './tool-call.state.js';

/** A call that a person is about to be asked about. */
export interface AskedCall {
  readonly proposal: ToolCallProposal;
  readonly requirement: Requirement;
}

const verdict: Verdict = { outcome: 'require', ruleId: '', policyVersion: '', automatic: false, why: [] };

/**
 * Returns whether this person could approve the call alone at the moment of its request (epoch milliseconds): request
 * and response are decided by the rules of a call, so every rule about people counts here as it does there.
 */
export function couldApproveAlone({ proposal, requirement }: AskedCall, responder: Responder, at: number): boolean {
  const judgement = { outcome: 'require', verdict, requirement } as const;
  const requested = toolCallDecider.decide(
    { type: 'RequestToolCall', at, call: proposal, judgement, approvalId: '' },
    toolCallDecider.initialState(),
  );
  if (requested.status === 'refused') return false;
  const state = fold(toolCallDecider, requested.events);
  const approval = state.status === 'recorded' ? currentApproval(state) : undefined;
  if (approval?.resolution.status !== 'pending') return false;
  const responded = toolCallDecider.decide(
    {
      ...{ type: 'RespondToApproval', at, approvalId: approval.approvalId, decision: { type: 'approve' } },
      // A grant has a reason, which stands for every approval that it replaces.
      ...{ responder, proposalDigest: null, actionDigest: null, reason: 'granted', instruction: null },
    },
    state,
  );
  return (
    responded.status === 'accepted' &&
    responded.events.some((event) => event.type === 'ApprovalResponded' && event.data.resolution === 'approved')
  );
}

/** Returns whether a call's risk is at most that of the grant. A rule without a risk has the lowest. */
export function isWithinRisk(risk: Risk | null, granted: Risk | null): boolean {
  return risk === null || (granted !== null && reaches(granted, risk));
}

/** The highest risk of these requirements. */
export function highestRisk(requirements: readonly Requirement[]): Risk | null {
  return requirements.reduce<Risk | null>((highest, { risk }) => (isWithinRisk(risk, highest) ? highest : risk), null);
}
