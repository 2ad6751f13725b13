import type { GrantEvent, GrantTerms } from '@countersign/contracts';
import { fold } from '../decider.js';
import { grantDecider } from '../grant.decider.js';
import type { GrantCommand } from '../grant.decider.js';
import type { GrantState } from '../grant.state.js';
import { callId, minute, startMs, stored } from './constants.js';

export const grantId = 'grn_aaaaaaaaaaaaaaaaaaaaaaaaaa';

/** Alice's grant, which ends after an hour. */
export const terms = (change: Partial<GrantTerms> = {}): GrantTerms => ({
  ...{ grantId, tenant: 'default', toolName: 'refund_order', match: { any: true }, runId: null },
  ...{ agentId: 'billing-agent', reason: 'a busy week', risk: null, maxUses: null, approvalId: null },
  ...{ createdBy: 'alice', groups: ['ops'], isListed: false, via: 'inbox', assurance: 'medium' },
  ...{ createdAt: stored(0), expiresAt: stored(60) },
  ...change,
});

export const createGrant = (change: Partial<GrantTerms> = {}): GrantCommand => ({
  type: 'CreateGrant',
  at: startMs,
  terms: terms(change),
});

export const confirmGrant = (confirmedBy = 'bob', at = minute(1)): GrantCommand => ({
  ...{ type: 'ConfirmGrant', confirmedBy, via: 'api', at },
});

export const useGrant = (used = callId, at = minute(2)): GrantCommand => ({
  ...{ type: 'UseGrant', callId: used, runId: 'run-1', at },
});

export const revokeGrant = (revokedBy = 'carol', at = minute(3)): GrantCommand => ({
  ...{ type: 'RevokeGrant', revokedBy, via: 'cli', at },
});

/** The events of commands that are all accepted. */
export function grantHistory(...commands: readonly GrantCommand[]): GrantEvent[] {
  return commands.reduce<GrantEvent[]>((events, command) => {
    const decision = grantDecider.decide(command, grantAfter(events));
    if (decision.status === 'refused') throw new Error(`${command.type}: ${decision.refusal.code}`);
    return [...events, ...decision.events];
  }, []);
}

export function grantAfter(events: readonly GrantEvent[]): GrantState {
  return fold(grantDecider, events);
}
