import type { EventData, Requirement, Verdict } from '@countersign/contracts';
import type { FirstVerdict, RequestFacts } from '../legality/call-state.js';
import type { JudgedEvent } from '../legality/judged-event.js';
import type { PolicyRecord } from './policy-record.js';
import { rulingsOf } from './rulings.js';

/** Reads the first verdict about a call from its event; undefined: the event has none. */
export function firstVerdictOf(
  event: JudgedEvent,
  request: RequestFacts,
  policies: PolicyRecord,
): FirstVerdict | undefined {
  const requirement = requirementIn(event);
  if (requirement === undefined) return undefined;
  const { verdict } = event.data as { readonly verdict: Verdict };
  const { outcome, ruleId } = verdict;
  const isCovered = verdict.grantId !== undefined;
  const { batch = null } = (isCovered ? coveredRequirement(verdict, request, policies) : requirement) ?? {};
  const bindsNothing = isCovered && batch !== 'sequential' && event.recordedAt < grantsBindSince;
  return { outcome, binds: bindsNothing ? null : batch, isByWorker: ruleId === 'needsApproval' };
}

/** Since then a call that a grant covers binds its step as its rule says. */
const grantsBindSince = '2026-11-29T12:14:24.000Z';

/** What people are asked; null: nobody is asked. */
function requirementIn({ type, data }: JudgedEvent): Requirement | null | undefined {
  switch (type) {
    case 'ApprovalRequested':
      return (data as EventData<'ApprovalRequested'>).requirement;
    case 'ToolCallQueued':
      return (data as EventData<'ToolCallQueued'>).question?.requirement ?? null;
    case 'ToolCallAllowed':
    case 'ToolCallBlocked':
      return null;
    default:
      return undefined;
  }
}

/** What the rule would have asked of a call that a grant covers. Of rules with expressions it is not known which ones count. */
function coveredRequirement(
  { policyVersion, ruleId }: Verdict,
  request: RequestFacts,
  policies: PolicyRecord,
): Requirement | undefined {
  const policy = policies.find(policyVersion, request.tenant);
  if (policy === undefined) return undefined;
  const [ruling, ...others] = rulingsOf(policy, policy.pathsOf(request), ruleId, { mayJoin: false });
  const isSure = ruling?.outcome === 'require' && ruling.isAlone && others.length === 0;
  return isSure ? ruling.asked.requirement : undefined;
}
