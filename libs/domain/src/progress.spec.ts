import { describe, expect, it } from '@jest/globals';
import type { Requirement } from '@countersign/contracts';
import { history, stateAfter } from './testing/given.js';
import {
  deny,
  editBy,
  expire,
  minute,
  remind,
  request,
  respond,
  responder,
  stage,
  stored,
} from './testing/fixtures.js';
import type { ToolCallCommand } from './tool-call.commands.js';
import { currentApproval } from './tool-call.state.js';
import { upcomingOf } from './upcoming.js';
import { progressOf } from './seats.js';

const inGroups = (principal: string, ...groups: string[]) => responder(principal, { groups });

function approvalAfter(required: Partial<Requirement>, ...commands: ToolCallCommand[]) {
  const approval = currentApproval(stateAfter(history(request(required), ...commands)));
  if (approval === undefined) throw new Error('no approval was requested');
  return approval;
}

const progressAfter = (...given: Parameters<typeof approvalAfter>) => progressOf(approvalAfter(...given));

describe('the progress of a stage', () => {
  const twoThenSecurity = {
    stages: [stage({ approve: 2, deny: 2, groups: ['ops', 'security'] }), stage({ groups: ['security'] })],
  };

  it('names who approved, who denied, and how many people of which groups are missing', () => {
    const votes = [respond(inGroups('alice', 'ops')), deny(inGroups('bob', 'ops'))];
    expect(progressAfter(twoThenSecurity, ...votes)).toEqual([
      { approvedBy: ['alice'], deniedBy: ['bob'], missing: 1, missingOf: ['ops', 'security'] },
      { approvedBy: [], deniedBy: [], missing: 1, missingOf: ['security'] },
    ]);
  });

  it('is complete when no approver is missing, and the next stage opens', () => {
    const votes = [respond(inGroups('alice', 'ops')), respond(inGroups('bob', 'security'))];
    expect(progressAfter(twoThenSecurity, ...votes)).toEqual([
      { approvedBy: ['alice', 'bob'], deniedBy: [], missing: 0, missingOf: [] },
      { approvedBy: [], deniedBy: [], missing: 1, missingOf: ['security'] },
    ]);
  });

  it('of all-of names the groups whose person is missing; a person of two groups fills one seat', () => {
    const each = { stages: [stage({ mode: 'all-of', groups: ['ops', 'security'] })] };
    expect(progressAfter(each, respond(inGroups('both', 'ops', 'security')))).toMatchObject([
      { approvedBy: ['both'], missing: 1 },
    ]);
    expect(progressAfter(each, respond(inGroups('olga', 'ops')))).toMatchObject([{ missingOf: ['security'] }]);
  });

  it('does not count an approval of arguments that were edited later', () => {
    const votes = [respond(inGroups('alice', 'ops')), editBy(inGroups('bob', 'ops'))];
    expect(progressAfter({ stages: [stage({ approve: 3 })] }, ...votes)).toEqual([
      { approvedBy: ['bob'], deniedBy: [], missing: 2, missingOf: null },
    ]);
  });

  it('adds the groups that it was escalated to', () => {
    const escalating = {
      ...{ stages: [stage({ groups: ['ops'] })], onTimeout: 'escalate' as const },
      escalation: [{ to: ['managers'], expiresInMs: 60_000 }],
    };
    expect(progressAfter(escalating, expire())).toMatchObject([{ missing: 1, missingOf: ['ops', 'managers'] }]);
  });
});

describe('automatic resolution', () => {
  const escalating: Partial<Requirement> = {
    onTimeout: 'escalate',
    escalation: [{ to: ['managers'], expiresInMs: 20 * 60_000 }],
    remindersMs: [20 * 60_000, 10 * 60_000, 90 * 60_000],
  };

  it('is each reminder before the deadline, then each escalation, then the expiry', () => {
    expect(upcomingOf(approvalAfter(escalating))).toEqual([
      { kind: 'reminder', at: stored(10), to: [] },
      { kind: 'reminder', at: stored(20), to: [] },
      { kind: 'escalation', at: stored(60), to: ['managers'] },
      { kind: 'expiry', at: stored(80), to: [] },
    ]);
  });

  it('leaves out what has happened', () => {
    const [first] = upcomingOf(approvalAfter(escalating, remind(minute(15))));
    expect(first).toEqual({ kind: 'reminder', at: stored(20), to: [] });
    const after = approvalAfter({ ...escalating, remindersMs: [] }, expire());
    expect(upcomingOf(after)).toEqual([{ kind: 'expiry', at: stored(80), to: [] }]);
  });

  it('is an approval only without an objection, and below high risk', () => {
    const kindAfter = (required: Partial<Requirement>, ...commands: ToolCallCommand[]) =>
      upcomingOf(approvalAfter(required, ...commands)).at(-1)?.kind;
    const silent: Partial<Requirement> = { onTimeout: 'allow', stages: [stage({ approve: 2, deny: 2 })] };
    expect(kindAfter(silent)).toBe('automatic-approval');
    expect(kindAfter(silent, deny('alice'))).toBe('expiry');
    expect(kindAfter({ ...silent, risk: 'high' })).toBe('expiry');
    expect(kindAfter({ onTimeout: 'hold' })).toBe('hold');
  });

  it('is nothing when there is no deadline, or when the approval has ended', () => {
    expect(upcomingOf(approvalAfter({ expiresInMs: 'never' }))).toEqual([]);
    expect(upcomingOf(approvalAfter({}, respond('alice')))).toEqual([]);
  });
});
