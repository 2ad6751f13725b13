import type { AskedBefore, QuotaFacts, QuotaLimits, Question, WaitingCall } from '../quota-facts.js';

/** A question of the principal `agent` about a call of its own. */
export const question = (toolCallId: string, change: Partial<Question> = {}): Question => ({
  ...{ callId: `id-of-${toolCallId}`, toolCallId, toolName: 'mail', arguments: { to: toolCallId } },
  ...{ hidesValues: false, identity: `mail to ${toolCallId}`, requestedBy: 'agent' },
  ...change,
});

/** A call of `agent` that waits for people. */
export const waiting = (toolCallId: string, change: Partial<WaitingCall> = {}): WaitingCall => ({
  ...{ callId: `id-of-${toolCallId}`, toolCallId, approvalId: `approval-of-${toolCallId}` },
  ...{ arguments: { to: toolCallId }, hidesValues: false, requestedBy: 'agent' },
  ...change,
});

/** What was asked before, for the agent of the questions. */
export const before = (change: Partial<AskedBefore> = {}): AskedBefore => ({
  ...{ counted: { agentId: 'agent', requestedBy: 'agent' }, deniedAt: [], pending: 0, waiting: new Map() },
  ...change,
});

export const quotas = (limits: Partial<QuotaLimits>, ...of: readonly AskedBefore[]): QuotaFacts => ({
  limits: { pendingPerAgent: null, coolDown: null, coalesceIdentical: false, ...limits },
  before: of,
});
