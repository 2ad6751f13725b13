import type { Verdict } from '@countersign/contracts';
import { fold } from './decider.js';
import type { Grant } from './grant.state.js';
import type { ApproversOfGrant, AskedCall } from './step.facts.js';
import type { Responder } from './tool-call.response-commands.js';
import { toolCallDecider } from './tool-call.decider.js';
import { currentApproval } from './tool-call.state.js';

const verdict: Verdict = { outcome: 'require', ruleId: '', policyVersion: '', automatic: false, why: [] };

/**
 * Returns whether this person could approve the call alone at the moment of its request (epoch milliseconds): request
 * and response are decided by the rules of a call, so every rule about people counts here as it does there.
 */
export function couldApproveAlone({ proposal, requirement }: AskedCall, responder: Responder, at: number): boolean {
  const judgement = { outcome: 'require', verdict, requirement } as const;
  // A sequential call is asked about at its turn. The order of the calls says nothing about who may approve one.
  const call = { ...proposal, batchMode: 'independent' } as const;
  const requested = toolCallDecider.decide(
    { type: 'RequestToolCall', at, call, judgement, approvalId: '' },
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

/** The people behind a grant as they are now. */
export interface PeopleOfGrant {
  /** Null: the creator may grant nothing any more. */
  readonly creator: Responder | null;
  /**
   * The names of the second person, and their groups where these are known now; null: there is none, or they are no
   * approver any more.
   */
  readonly confirmer: (Pick<Responder, 'principal' | 'aliases'> & Partial<Pick<Responder, 'groups'>>) | null;
}

/** The answers of the rules of a response about the people behind a grant. `at`: epoch milliseconds. */
export function couldApprove(
  { confirmed }: Pick<Grant, 'confirmed'>,
  { creator, confirmer }: PeopleOfGrant,
  call: AskedCall,
  at: number,
): ApproversOfGrant {
  const creatorCould = creator !== null && couldApproveAlone(call, creator, at);
  if (confirmed === null || confirmer === null || !creatorCould) return { creatorCould, confirmerCould: false };
  return { creatorCould, confirmerCould: couldApproveAlone(call, confirmerOf(creator, confirmer, call), at) };
}

/**
 * The second person in front of a call. Attack: the agent's owner confirms. A call of high risk needs two people, so there
 * the groups of the second one count as well: they may have left those that are asked. For other calls, and for a person
 * who is signed in at a provider and away, it counts only who they are.
 */
function confirmerOf(
  creator: Responder,
  { principal, aliases = [], groups = creator.groups }: NonNullable<PeopleOfGrant['confirmer']>,
  { requirement: { risk } }: AskedCall,
): Responder {
  return { ...creator, principal, aliases, groups: risk === 'high' ? groups : creator.groups };
}
