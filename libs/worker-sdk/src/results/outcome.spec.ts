import { expect, it } from '@jest/globals';
import type { ToolCallView } from '@countersign/contracts';
import { hasNews, outcomeOf } from './outcome.js';
import type { Session } from './outcome.js';

type Seen = Partial<Pick<ToolCallView, 'waitsForTurn' | 'revision'>> & { readonly approval?: object | null };

/** A session with one call of a step that has been seen at revision 1. */
function sessionWith(batchMode: 'sequential' | 'independent', { approval = null, ...seen }: Seen): Session {
  const view = { callId: 'tc_1', toolCallId: '1', state: 'awaiting_approval', revision: 2, approval, ...seen };
  const call = { toolCallId: '1', toolName: 't', callId: 'tc_1', argumentsHash: null, local: null, seenRevision: 1 };
  return {
    state: { version: 1, runId: 'r', batchMode, calls: [call] },
    views: new Map([['tc_1', view as unknown as ToolCallView]]),
  };
}

const pending = { state: 'pending', approvalId: 'apr_1', batch: null };

it('the turn of a sequential call is news: its approval can be shown now', () => {
  expect(hasNews(sessionWith('sequential', { approval: pending }), new Map())).toBe(true);
  expect(hasNews(sessionWith('sequential', { approval: pending, revision: 1 }), new Map())).toBe(false);
  expect(hasNews(sessionWith('sequential', { waitsForTurn: true }), new Map())).toBe(false);
  expect(hasNews(sessionWith('independent', { approval: pending }), new Map())).toBe(false);
  const byRule = { ...pending, batch: { mode: 'sequential' } };
  expect(hasNews(sessionWith('independent', { approval: byRule }), new Map())).toBe(true);
});

it('a call that waits for its turn is awaited, and its ended round is no pending approval', () => {
  const queued = sessionWith('sequential', { waitsForTurn: true, approval: { ...pending, state: 'expired' } });
  expect(outcomeOf(queued, new Map())).toMatchObject({ stopReason: 'awaiting_approval', pendingApprovals: [] });
});
