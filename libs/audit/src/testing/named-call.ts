import type { EventType } from '@countersign/contracts';
import { derivedName, digestOfAction } from '../legality/digests.js';
import { identity, minute } from './story.js';
import type { Story } from './story.js';

type Members = Readonly<Record<string, unknown>>;

/** The id of a call of the run of each story, by its name. */
export function idOf(toolCallId: string): string {
  return derivedName('tc_', [identity.tenant, identity.runId, toolCallId]);
}

/** The approval of a call in this round. */
export function approvalOf(name: string, round = 1): string {
  return `apr_${idOf(name).slice('tc_'.length)}_${String(round)}`;
}

/** An event of a call besides the one that a story is about. */
export function aboutCall(told: Story, name: string, type: EventType, data: Members = {}): Story {
  return told.append(`toolCall-${idOf(name)}`, type, data, { callId: idOf(name) });
}

/** What the request of such a call asks to run. */
export function actionOf(name: string): Parameters<typeof digestOfAction>[0] {
  return { ...identity, toolCallId: name, agentId: 'agent', toolName: 'refund', toolSchemaHash: null };
}

/** The digest of the action of such a call. */
export function digestOfCall(name: string, toolName = 'refund'): string {
  return digestOfAction({ ...actionOf(name), toolName }, {}, '00');
}

/** The request of such a call, without a verdict. */
export function requestCall(told: Story, name: string, more: Members = {}): Story {
  const { toolName = 'refund' } = more as { readonly toolName?: string };
  return aboutCall(told, name, 'ToolCallRequested', {
    ...{ ...actionOf(name), callId: idOf(name), batchId: null, batchMode: 'independent', batchCallIds: [] },
    ...{ arguments: {}, toolSchema: null, salt: '00', actionDigest: digestOfCall(name, toolName), sensitive: [] },
    ...{ needsApproval: false, reason: null, description: null, clientExecuted: false, idempotent: false },
    ...{ labels: {}, requestedBy: 'agent', requestedAt: minute(0), ...more },
  });
}
