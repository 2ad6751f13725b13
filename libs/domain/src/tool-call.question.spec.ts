import { describe, expect, it } from '@jest/globals';
import type { Stop } from './stop.state.js';
import type { BatchFate } from './tool-call.command-base.js';
import { askedNobody } from './tool-call.question.js';
import type { ToolCall } from './tool-call.state.js';
import { ask, callId, requestAllowed, requestBlocked } from './testing/fixtures.js';
import { given, history, stateAfter } from './testing/given.js';

const stop: Stop = {
  ...{ stopId: 'stop_1', scope: { tenant: null, agentId: null, toolName: null }, reason: 'it pays twice' },
  ...{ declaredBy: 'ann', declaredAt: '2026-11-29T10:00:00.000Z', lifted: null },
};

describe('a question about a recorded call', () => {
  it('is refused under a stop that covers the call', () => {
    const allowed = history(requestAllowed());
    given(allowed)
      .when(ask({ stopsOver: [stop] }))
      .thenRefused('stopped');
    const lifted = { by: 'bob', at: '2026-11-29T11:00:00.000Z', reason: 'mended' };
    expect(history(requestAllowed(), ask({ stopsOver: [{ ...stop, lifted }] }))).toHaveLength(allowed.length + 1);
  });

  it('of another principal is not told about the stop', () => {
    given(history(requestAllowed()))
      .when(ask({ stopsOver: [stop], requestedBy: 'mallory' }))
      .thenRefused('forbidden');
  });
});

describe('a question that was recorded', () => {
  const members = { batchId: 's', batchMode: 'all-or-nothing' as const, batchCallIds: [callId, 'tc_b'] };
  const askedAlone = history(requestAllowed(), ask());
  const asked = [...history(requestAllowed(members)), ...askedAlone.slice(2)];
  const codeOf = (events: Parameters<typeof stateAfter>[0], fate?: BatchFate, isEndedInside = false) =>
    askedNobody(stateAfter(events) as ToolCall, { fate, isEndedInside })?.code;

  it('waits for people, unless its batch has got its word', () => {
    expect([codeOf(askedAlone), codeOf(asked), codeOf(asked, 'open')]).toEqual(Array(3).fill(undefined));
    expect([codeOf(asked, 'begun'), codeOf(asked, 'broken')]).toEqual(['batch-begun', 'batch-incomplete']);
  });

  it('asks nobody where the call around it was cancelled, or the policy blocks it now', () => {
    expect(codeOf(asked, undefined, true)).toBe('already-settled');
    expect(codeOf(history(requestBlocked()), undefined)).toBe('blocked-by-policy');
  });
});
