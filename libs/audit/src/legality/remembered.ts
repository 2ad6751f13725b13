import { canonicalJson, parseApprovalId, placeLabelsOf } from '@countersign/contracts';
import type { GrantTerms } from '@countersign/contracts';
import type { ApprovalState, CallState } from './call-state.js';
import { digestOf } from './digests.js';
import { illegal, isSealedAt } from './judged-event.js';
import type { JudgedEvent, Judgement } from './judged-event.js';
import { isSameName } from './names.js';
import type { KnownStreams, StreamState } from './streams.js';

const legal: Judgement = { illegal: [], unproven: [] };

/**
 * Compares a grant that was remembered with an approval with that approval. Attack: a grant names an approval that never was, or one
 * of another call, another person or a lower risk.
 * @param isWhole false where the call of the approval may not be shown.
 */
export function judgeRemembered(event: JudgedEvent, streams: KnownStreams, isWhole: boolean): Judgement {
  const approvalId = approvalIdIn(event);
  if (approvalId === null) return legal;
  const known = streams.get(`toolCall-${String(parseApprovalId(approvalId)?.callId)}`);
  const isShown = known === undefined ? isWhole : known.state?.kind !== 'set-aside';
  if (!isShown) return { illegal: [], unproven: ['leans-on-set-aside'] };
  const differs = differenceFrom(event, known?.state);
  if (differs === undefined) return legal;
  return { illegal: [illegal('grant', `it was remembered with ${approvalId}: ${differs}`)], unproven: [] };
}

function differenceFrom(event: JudgedEvent, state: StreamState | undefined): string | undefined {
  return state?.kind === 'call' ? differenceOf(event, state) : 'there is no such call';
}

function approvalIdIn({ type, data }: JudgedEvent): string | null {
  return type === 'GrantCreated' || type === 'GrantProposed' ? (data as GrantTerms).approvalId : null;
}

/** How a grant differs from what a person gives together with an approval; undefined: it does not. */
function differenceOf(event: JudgedEvent, { request, approval, approvedBy = {} }: CallState): string | undefined {
  const terms = event.data as GrantTerms;
  const { approvalId, createdBy } = terms;
  const people = Object.entries(approvedBy).find(([id]) => id === approvalId)?.[1];
  if (people === undefined) return 'no such approval was given';
  if (!people.some((name) => isSameName(name, createdBy))) return `${createdBy} did not give that approval`;
  if (!isOfCall(terms, request)) return 'the call has another tool, run, agent or principal';
  if (!isInPlace(terms, request)) return 'it is for another place';
  if (!isOfSchema(terms, request)) return 'it is for another schema of the tool';
  return approval?.approvalId === approvalId ? notOfApproval(event, request, approval) : undefined;
}

function isOfCall(terms: GrantTerms, request: CallState['request']): boolean {
  const { toolName, requestedBy = request.requestedBy, runId, agentId } = terms;
  const isOfBoth = toolName === request.toolName && requestedBy === request.requestedBy;
  return isOfBoth && isOrAny(runId, request.runId) && isOrAny(agentId, request.agentId);
}

function isOrAny(named: string | null, found: string): boolean {
  return named === null || named === found;
}

/** Older versions remembered no place. */
function isInPlace({ labels }: GrantTerms, request: CallState['request']): boolean {
  return labels === undefined || canonicalJson(labels) === canonicalJson(placeLabelsOf(request.labels));
}

/** Older versions remembered no schema. */
function isOfSchema({ toolSchemaHash }: GrantTerms, request: CallState['request']): boolean {
  return toolSchemaHash === undefined || toolSchemaHash === request.toolSchemaHash;
}

function notOfApproval(
  event: JudgedEvent,
  request: CallState['request'],
  { number, proposal }: ApprovalState,
): string | undefined {
  const terms = event.data as GrantTerms;
  if (!proposal.requirements.some(({ risk }) => risk === terms.risk)) return 'the approval had another risk';
  return number > 1 || isOfArguments(event, request) ? undefined : 'the call has other arguments';
}

/** What an edit asked is not remembered here, and hidden values have no digest. */
function isOfArguments(event: JudgedEvent, { argumentsDigest }: CallState['request']): boolean {
  const { match } = event.data as GrantTerms;
  if (!('digest' in match) || argumentsDigest === null || isSealedAt(event, '/match/salt')) return true;
  return match.digest === digestOf([argumentsDigest, match.salt]);
}
