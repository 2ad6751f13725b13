import { describe, expect, it } from '@jest/globals';
import { aboutCall, approvalOf, digestOfCall, idOf, requestCall } from '../testing/named-call.js';
import { batchOf, minute, recordedAt, requirement, story, verdict } from '../testing/story.js';
import type { Story } from '../testing/story.js';
import { wordsOf } from '../testing/words-of.js';

type Members = Readonly<Record<string, unknown>>;

const callIds = ['a', 'b'].map(idOf);
const member = { batchCallIds: callIds, batchMode: 'all-or-nothing' };
const seconds = (minutes: number, more: number): string =>
  new Date(Date.parse(minute(minutes)) + more * 1000).toISOString();

const allow = (told: Story, name: string): Story =>
  aboutCall(told, name, 'ToolCallAllowed', { verdict: verdict('allow'), allowedAt: minute(0) });
const one = {
  ...requirement,
  stages: [{ mode: 'quorum', approve: 1, deny: 1, groups: null }],
  batch: 'all-or-nothing',
};
const ask = (told: Story, name: string): Story =>
  aboutCall(told, name, 'ApprovalRequested', {
    ...{ approvalId: approvalOf(name), round: 1, actionDigest: digestOfCall(name), verdict: verdict('require') },
    ...{ requirement: one, reason: null, description: null, requestedBy: 'agent' },
    ...{ requestedAt: minute(0), expiresAt: minute(10) },
  });
const approve = (told: Story, name: string): Story =>
  aboutCall(told, name, 'ApprovalResponded', {
    ...{ approvalId: approvalOf(name), decision: { type: 'approve' }, proposal: 1, shown: null },
    ...{ actionDigest: digestOfCall(name), reason: null, instruction: null, respondedBy: 'alice', onBehalfOf: null },
    ...{ groups: [], via: 'api', assurance: 'medium', automatic: false, respondedAt: minute(1) },
    ...{ resolution: 'approved', executeBy: minute(11) },
  });
const requested = ['a', 'b'].reduce((told, name) => requestCall(told, name, member), story().policy());
const begin = (told: Story, at: string, acting: string): readonly string[] => {
  const data: Members = { callIds, requestedBy: 'agent', callId: idOf(acting), begunAt: at };
  return begunIn(recordedAt(at, told.append(batchOf(callIds), 'BatchBegun', data)));
};
/** The words about the begin. */
const begunIn = (told: Story): readonly string[] => {
  const before = wordsOf(story(told.events.slice(0, -1)));
  return wordsOf(told).slice(before.length);
};
/** People are asked about the member that was allowed. */
const asked = ask(allow(approve(ask(requested, 'b'), 'b'), 'a'), 'a');
const askedAt = Date.parse(asked.events.at(-1)?.recordedAt ?? '');
const after = (ms: number): string => new Date(askedAt + ms).toISOString();
const approved = approve(ask(allow(requested, 'a'), 'b'), 'b');

describe('the begin of a batch', () => {
  it('is legal where each member may run', () => {
    expect(begin(approved, minute(5), 'b')).toEqual([]);
    expect(begin(approved, seconds(11, 2), 'a')).toEqual([]);
  });

  it('is listed, and found after 15 minutes, where people are being asked about a member', () => {
    expect(begin(asked, after(3000), 'b')).toEqual([]);
    expect(begin(asked, after(3001), 'b')).toContain('batch-begin');
    expect(begin(asked, after(900_001), 'b').join()).toContain('people are being asked about its member');
  });

  it('is listed after the right of a member to run, and found where that one acts long after it', () => {
    expect(begin(approved, seconds(11, 3), 'a')).toEqual(['batch-begin']);
    expect(begin(approved, seconds(11, 3), 'b')).toEqual(['batch-begin']);
    expect(begin(approved, minute(60), 'a')).toEqual(['batch-begin']);
    expect(begin(approved, minute(60), 'b')).toEqual([expect.stringContaining('after its right to run has ended')]);
  });
});
