import { describe, expect, it } from '@jest/globals';
import type { Requirement } from '@countersign/contracts';
import { given, history, stateAfter } from './testing/given.js';
import {
  answer,
  claim,
  deny,
  digestOf,
  edit,
  editBy,
  request,
  requirement,
  respond,
  responder,
  stage,
  verdict,
} from './testing/fixtures.js';
import type { RespondToApproval } from './tool-call.response-commands.js';
import { callState, currentApproval } from './tool-call.state.js';

const inGroups = (principal: string, ...groups: string[]) => responder(principal, { groups });

/** The state of the call after these responses, all of them accepted. */
function stateOf(required: Partial<Requirement>, ...responses: RespondToApproval[]) {
  return callState(stateAfter(history(request(required), ...responses)));
}

describe('a quorum', () => {
  const two = { stages: [stage({ approve: 2, deny: 2 })] };

  it('is reached by as many distinct people as it names', () => {
    expect(stateOf(two, respond('alice'))).toBe('awaiting_approval');
    expect(stateOf(two, respond('alice'), respond('bob'))).toBe('approved');
  });

  it('denies at its threshold of denials and not before', () => {
    expect(stateOf(two, deny('alice'), respond('bob'))).toBe('awaiting_approval');
    expect(stateOf(two, deny('alice'), respond('bob'), deny('carol'))).toBe('denied');
    expect(stateOf(two, deny('alice'), respond('bob'), respond('carol'))).toBe('approved');
  });
});

describe('stages', () => {
  const opsThenSecurity = { stages: [stage({ groups: ['ops'] }), stage({ groups: ['security'] })] };

  it('are asked in order', () => {
    given(history(request(opsThenSecurity)))
      .when(respond(inGroups('sam', 'security')))
      .thenRefused('not-an-approver', { groups: ['ops'] });
    expect(stateOf(opsThenSecurity, respond(inGroups('olga', 'ops')))).toBe('awaiting_approval');
    expect(stateOf(opsThenSecurity, respond(inGroups('olga', 'ops')), respond(inGroups('sam', 'security')))).toBe(
      'approved',
    );
  });

  it('count a person once: a vote in one stage leaves none for the next', () => {
    const both = inGroups('both', 'ops', 'security');
    given(history(request(opsThenSecurity), respond(both)))
      .when(respond(both))
      .thenRefused('already-voted');
  });

  it('deny at the threshold of the stage that is asked', () => {
    expect(stateOf(opsThenSecurity, respond(inGroups('olga', 'ops')), deny(inGroups('sam', 'security')))).toBe(
      'denied',
    );
  });

  it('restart after an edit, whose author counts in the first stage that is theirs', () => {
    const sam = inGroups('sam', 'security');
    const edited = [respond(inGroups('olga', 'ops')), editBy(sam)];
    expect(stateOf(opsThenSecurity, ...edited)).toBe('awaiting_approval');
    given(history(request(opsThenSecurity), ...edited))
      .when(respond(inGroups('tina', 'security')))
      .thenRefused('not-an-approver', { groups: ['ops'] });
    expect(stateOf(opsThenSecurity, ...edited, respond(inGroups('olga', 'ops')))).toBe('approved');
  });
});

describe('all-of', () => {
  const opsAndSecurity = { stages: [stage({ mode: 'all-of', groups: ['ops', 'security'] })] };

  it('needs one person of each group', () => {
    const ops = [respond(inGroups('olga', 'ops')), respond(inGroups('oscar', 'ops'))];
    expect(stateOf(opsAndSecurity, ...ops)).toBe('awaiting_approval');
    expect(stateOf(opsAndSecurity, ...ops, respond(inGroups('sam', 'security')))).toBe('approved');
  });

  it('does not take one person for two groups', () => {
    expect(stateOf(opsAndSecurity, respond(inGroups('both', 'ops', 'security')))).toBe('awaiting_approval');
  });

  it('counts a person of two groups for the group that no other voter fills', () => {
    const both = respond(inGroups('both', 'ops', 'security'));
    expect(stateOf(opsAndSecurity, both, respond(inGroups('olga', 'ops')))).toBe('approved');
    expect(stateOf(opsAndSecurity, both, respond(inGroups('sam', 'security')))).toBe('approved');
  });

  it('reseats people along a chain of groups', () => {
    const three = { stages: [stage({ mode: 'all-of', groups: ['a', 'b', 'c'] })] };
    const votes = [respond(inGroups('1', 'a', 'b')), respond(inGroups('2', 'a', 'c')), respond(inGroups('3', 'a'))];
    expect(stateOf(three, ...votes)).toBe('approved');
  });

  it('without groups is a quorum of all approvers', () => {
    const anybody = { stages: [stage({ mode: 'all-of', approve: 2 })] };
    expect(stateOf(anybody, respond('alice'))).toBe('awaiting_approval');
    expect(stateOf(anybody, respond('alice'), respond('bob'))).toBe('approved');
  });
});

describe('an edit under a quorum', () => {
  const two = { stages: [stage({ approve: 2, deny: 2 })] };

  it('voids the approvals of the earlier arguments and counts its author for the new ones', () => {
    const three = { stages: [stage({ approve: 3 })] };
    const events = history(request(three), respond('alice'), editBy('bob'), respond('carol'));
    expect(callState(stateAfter(events))).toBe('awaiting_approval');
    expect(currentApproval(stateAfter(events))?.votes.map(({ status }) => status)).toEqual([
      'void',
      'counted',
      'counted',
    ]);
    expect(stateOf(three, respond('alice'), editBy('bob'), respond('carol'), respond('alice'))).toBe('approved');
  });

  it('is what runs: the earlier arguments can no longer be claimed', () => {
    const events = history(request(two), editBy('alice'), respond('bob'));
    given(events).when(claim()).thenRefused('digest-mismatch');
    expect(history(request(two), editBy('alice'), respond('bob'), claim({ actionDigest: digestOf('b') }))).toHaveLength(
      5,
    );
  });

  it('leaves the denials of others standing', () => {
    expect(stateOf(two, deny('alice'), editBy('bob'), deny('carol'))).toBe('denied');
  });

  it('lets a person who denied the earlier arguments vote once more', () => {
    expect(stateOf(two, deny('alice'), editBy('bob'), deny('alice'))).toBe('awaiting_approval');
    expect(stateOf(two, deny('alice'), editBy('bob'), respond('alice'))).toBe('approved');
  });

  it('back to earlier arguments does not revive the votes for those', () => {
    expect(stateOf(two, respond('alice'), editBy('bob'), editBy('carol', edit('a')))).toBe('awaiting_approval');
  });

  it('to the same arguments is an approval of them', () => {
    expect(stateOf(two, respond('alice'), editBy('bob', edit('a')))).toBe('approved');
  });

  it('keeps a denial counting when its stage is gone', () => {
    const stages = [stage({ groups: ['ops'] }), stage({ deny: 2, groups: ['ops'] })];
    const raisedTo = requirement({ stages: [stage({ approve: 3, deny: 2, groups: ['ops'] })] });
    const raising = edit('b', { judgement: { outcome: 'require', verdict: verdict(), requirement: raisedTo } });
    const votes = [respond('alice'), deny('bob'), editBy('carol', raising)];
    expect(stateOf({ stages }, ...votes)).toBe('awaiting_approval');
    expect(stateOf({ stages }, ...votes, deny('dave'))).toBe('denied');
  });
});

describe('an answer under a quorum', () => {
  const two = { stages: [stage({ approve: 2, deny: 2 })] };

  it('voids the approvals of the run: they agreed to something else', () => {
    expect(stateOf(two, respond('alice'), answer('bob', 'x'))).toBe('awaiting_approval');
  });

  it('is agreed to by an approval after it, and is then the result of the call', () => {
    const events = history(request(two), answer('alice', 'x'), respond('bob'));
    const state = stateAfter(events);
    expect(callState(state)).toBe('succeeded');
    expect(state).toMatchObject({ execution: { status: 'succeeded', attempt: null, by: 'approver', output: 'x' } });
    given(events).when(claim()).thenRefused('already-settled');
  });

  it('is agreed to by the same answer of another person', () => {
    expect(stateOf(two, answer('alice', 'x'), answer('bob', 'x'))).toBe('succeeded');
    expect(stateOf(two, answer('alice', 'x'), answer('bob', 'y'))).toBe('awaiting_approval');
  });

  it('with hidden values is a proposal of its own, so that no guess of them is told by being a vote', () => {
    const guess = { decision: { type: 'answer', output: 'x', hidesValues: true } } as const;
    given(history(request(two), answer('alice', 'x')))
      .when(respond('bob', guess))
      .thenAccepted({ proposal: 3, decision: { type: 'answer', output: 'x' }, resolution: 'pending' });
    expect(stateOf(two, respond('alice', guess), respond('bob'))).toBe('succeeded');
  });

  it('replaces an earlier answer of the same person', () => {
    given(history(request(two), answer('alice', 'x')))
      .when(answer('alice', 'x'))
      .thenRefused('already-voted');
    expect(stateOf(two, answer('alice', 'x'), answer('alice', 'y'), respond('bob'))).toBe('succeeded');
  });

  it('gives way to an edit, which is a run again', () => {
    expect(stateOf(two, answer('alice', 'x'), editBy('bob'), respond('carol'))).toBe('approved');
  });
});
