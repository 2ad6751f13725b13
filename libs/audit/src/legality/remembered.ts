import { canonicalJson, parseApprovalId, placeLabelsOf } from '@countersign/contracts';
import type { GrantTerms } from '@countersign/contracts';
import type { CallState } from './call-state.js';
import { digestOf } from './digests.js';
import { illegal, isSealedAt } from './judged-event.js';
import type { JudgedEvent, Judgement } from './judged-event.js';
import { isSameName } from './names.js';
import type { KnownStreams } from './streams.js';

const legal: Judgement = { illegal: [], unproven: [] };

/**
 * Compares a grant that was remembered with an approval with that approval. Attack: a grant names an approval that never was, or one
 * of another call, another person or a lower risk.
 * @param isWhole false where the call of the approval may not be shown.
 */
export function judgeRemembered(event: JudgedEvent, streams: KnownStreams, isWhole: boolean): Judgement {
  if (event.type !== 'GrantCreated' && event.type !== 'GrantProposed') return legal;
  const terms = event.data as GrantTerms;
  if (terms.approvalId === null) return legal;
  const { callId = '' } = parseApprovalId(terms.approvalId) ?? {};
  const known = streams.get(`toolCall-${callId}`);
  if (known?.state?.kind === 'set-aside' || (known === undefined && !isWhole)) {
    return { illegal: [], unproven: ['leans-on-set-aside'] };
  }
  const differs = known?.state?.kind === 'call' ? differenceOf(event, terms, known.state) : 'there is no such call';
  if (differs === undefined) return legal;
  return { illegal: [illegal('grant', `it was remembered with ${terms.approvalId}: ${differs}`)], unproven: [] };
}

/** How a grant differs from what a person gives together with an approval; undefined: it does not. */
function differenceOf(event: JudgedEvent, terms: GrantTerms, call: CallState): string | undefined {
  const { request, approval, approvedBy = {} } = call;
  const { approvalId, createdBy, toolName, requestedBy = request.requestedBy } = terms;
  const people = Object.entries(approvedBy).find(([id]) => id === approvalId)?.[1];
  if (people === undefined) return 'no such approval was given';
  if (!people.some((name) => isSameName(name, createdBy))) return `${createdBy} did not give that approval`;
  const isOfCall = toolName === request.toolName && requestedBy === request.requestedBy;
  if (!isOfCall || !isOrAny(terms.runId, request.runId) || !isOrAny(terms.agentId, request.agentId)) {
    return 'the call has another tool, run, agent or principal';
  }
  // Older versions remembered no place.
  const { labels } = terms;
  if (labels !== undefined && canonicalJson(labels) !== canonicalJson(placeLabelsOf(request.labels))) {
    return 'it is for another place';
  }
  if (approval?.approvalId !== approvalId) return undefined;
  if (!approval.proposal.requirements.some(({ risk }) => risk === terms.risk)) return 'the approval had another risk';
  return approval.number > 1 || isOfArguments(event, terms, request) ? undefined : 'the call has other arguments';
}

function isOrAny(named: string | null, found: string): boolean {
  return named === null || named === found;
}

/** What an edit asked is not remembered here, and hidden values have no digest. */
function isOfArguments(event: JudgedEvent, { match }: GrantTerms, { argumentsDigest }: CallState['request']): boolean {
  if (!('digest' in match) || argumentsDigest === null || isSealedAt(event, '/match/salt')) return true;
  return match.digest === digestOf([argumentsDigest, match.salt]);
}
