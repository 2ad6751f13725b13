import type { GrantEvent, GrantTerms, Risk } from '@countersign/contracts';
import { accepted, refused } from './decider.js';
import type { Decider, RuleResult } from './decider.js';
import { isExhausted } from './grant.state.js';
import type { Grant, GrantState } from './grant.state.js';
import { isSameIdentity } from './identity.js';
import { hasCome, toEpochMs, toStored } from './time.js';

interface Timed {
  /** The moment at which the command is decided, epoch milliseconds. */
  readonly at: number;
}

/** A person permits calls in advance. The caller has checked who may do so, and for which calls. */
export interface CreateGrant extends Timed {
  readonly type: 'CreateGrant';
  readonly terms: GrantTerms;
}

/** A second person agrees to a grant above the risk tier. */
export interface ConfirmGrant extends Timed {
  readonly type: 'ConfirmGrant';
  readonly confirmedBy: string;
  /** Other names of the same person. A grant that they created under one of them is their own. Default: none. */
  readonly aliases?: readonly string[];
  readonly via: string;
}

/** A call that the grant matches is about to be recorded. */
export interface UseGrant extends Timed {
  readonly type: 'UseGrant';
  readonly callId: string;
  readonly runId: string;
}

/** A person ends the grant. */
export interface RevokeGrant extends Timed {
  readonly type: 'RevokeGrant';
  readonly revokedBy: string;
  readonly via: string;
  readonly reason?: string;
}

export type GrantCommand = CreateGrant | ConfirmGrant | UseGrant | RevokeGrant;

/** Returns whether a grant for calls of this risk waits for a second person. */
export function needsSecondPerson(risk: Risk | null): boolean {
  return risk === 'high';
}

function createGrant({ terms, at }: CreateGrant, state: GrantState): RuleResult<GrantEvent> {
  if (state.status !== 'unknown') return accepted();
  if (toEpochMs(terms.expiresAt) <= at) return refused('expired', 'The grant would end before it begins.');
  return accepted({ type: needsSecondPerson(terms.risk) ? 'GrantProposed' : 'GrantCreated', data: terms });
}

function confirmGrant({ confirmedBy, aliases = [], via, at }: ConfirmGrant, state: Grant): RuleResult<GrantEvent> {
  if (state.status === 'active') {
    const isRepeated = state.confirmed !== null && isSameIdentity(state.confirmed.by, confirmedBy);
    return isRepeated ? accepted() : refused('already-resolved', 'The grant needs no confirmation; it is active.');
  }
  const ended = notLive(state, at);
  if (ended !== undefined) return ended;
  if ([confirmedBy, ...aliases].some((name) => isSameIdentity(state.terms.createdBy, name))) {
    return refused('own-request', 'You created this grant yourself; another person must confirm it.');
  }
  const { grantId, match, approvalId } = state.terms;
  if ('digest' in match && approvalId === null) {
    const detail =
      'Nobody can see which arguments this grant covers: revoke it, and remember an approval of such a call.';
    return refused('decision-not-allowed', detail);
  }
  return accepted({ type: 'GrantConfirmed', data: { grantId, confirmedBy, via, confirmedAt: toStored(at) } });
}

/** Takes a use for a call. A repeat of the call's request finds its use and takes no second one. */
function useGrant({ callId, runId, at }: UseGrant, state: Grant): RuleResult<GrantEvent> {
  const ended = notLive(state, at);
  if (ended !== undefined) return ended;
  if (state.status === 'pending') return refused('not-approved', 'A second person must confirm the grant first.');
  if (state.callIds.includes(callId)) return accepted();
  if (isExhausted(state)) return refused('grant-ended', 'Every use of the grant is taken.');
  const { grantId } = state.terms;
  const nth = state.uses + 1;
  return accepted({ type: 'GrantUsed', data: { grantId, callId, runId, nth, usedAt: toStored(at) } });
}

function revokeGrant({ revokedBy, via, reason, at }: RevokeGrant, state: Grant): RuleResult<GrantEvent> {
  if (state.status === 'revoked') return accepted();
  const { grantId } = state.terms;
  const why = reason === undefined ? {} : { reason };
  return accepted({ type: 'GrantRevoked', data: { grantId, revokedBy, via, ...why, revokedAt: toStored(at) } });
}

function notLive({ status, revoked, terms }: Grant, at: number): RuleResult<never> | undefined {
  if (status === 'revoked') return refused('grant-ended', `${revoked?.by ?? 'Another person'} revoked the grant.`);
  return hasCome(terms.expiresAt, at) ? refused('expired', 'The grant has expired.') : undefined;
}

function decide(command: GrantCommand, state: GrantState): RuleResult<GrantEvent> {
  if (command.type === 'CreateGrant') return createGrant(command, state);
  if (state.status === 'unknown') return refused('not-requested', 'No such grant is recorded.');
  switch (command.type) {
    case 'ConfirmGrant':
      return confirmGrant(command, state);
    case 'UseGrant':
      return useGrant(command, state);
    case 'RevokeGrant':
      return revokeGrant(command, state);
  }
}

const unused = { confirmed: null, revoked: null, uses: 0, callIds: [], lastUsedAt: null } as const;

function evolve(state: GrantState, event: GrantEvent): GrantState {
  if (event.type === 'GrantProposed' || event.type === 'GrantCreated') {
    const status = event.type === 'GrantCreated' ? 'active' : 'pending';
    return state.status === 'unknown' ? { ...unused, status, terms: event.data } : state;
  }
  if (state.status === 'unknown') return state;
  switch (event.type) {
    case 'GrantConfirmed': {
      const { confirmedBy: by, confirmedAt: at } = event.data;
      return state.status === 'pending' ? { ...state, status: 'active', confirmed: { by, at } } : state;
    }
    case 'GrantUsed': {
      const { callId, nth, usedAt } = event.data;
      return { ...state, uses: nth, callIds: [...state.callIds, callId], lastUsedAt: usedAt };
    }
    case 'GrantRevoked': {
      const { revokedBy: by, revokedAt: at, reason = null } = event.data;
      return { ...state, status: 'revoked', revoked: { by, at, reason } };
    }
  }
}

/**
 * The decider of the stream `grant-<grantId>`. Uses, the confirmation and the revocation are in one order there, so no
 * process covers a call by a grant that has ended.
 */
export const grantDecider: Decider<GrantState, GrantCommand, GrantEvent> = {
  initialState: () => ({ status: 'unknown' }),
  decide,
  evolve,
  isTerminal: ({ status }) => status === 'revoked',
};
