import { describe, expect, it } from '@jest/globals';
import type { Requirement } from '@countersign/contracts';
import { shortageDetail, shortageOf } from './shortage.js';
import type { ToolCallCommand, ToolCallProposal } from './tool-call.commands.js';
import type { PossibleApprover } from './tool-call.response-commands.js';
import { currentApproval } from './tool-call.state.js';
import {
  delegateOf,
  deny,
  edit,
  editBy,
  expire,
  minute,
  minuteMs,
  request,
  requirement,
  respond,
  responder,
  stage,
  stored,
  verdict,
} from './testing/fixtures.js';
import { given, history, stateAfter } from './testing/given.js';

const person = (name: string, ...groups: string[]): PossibleApprover => ({ names: [name, `${name}@corp`], groups });
const [alice, bob, carol] = [person('alice', 'ops'), person('bob', 'ops'), person('carol', 'security')];
const all = [alice, bob, carol];
const ops = { stages: [stage({ groups: ['ops'] })] };
const twoOfOps = { stages: [stage({ approve: 2, deny: 2, groups: ['ops'] })] };

const shortWith = (approvers: readonly PossibleApprover[], ...commands: readonly ToolCallCommand[]) => {
  const state = stateAfter(history(...commands));
  const approval = currentApproval(state);
  if (state.status === 'unrequested' || approval === undefined) throw new Error('nobody is asked');
  return shortageOf(state, approval, approvers);
};

describe('the approvers who are left for a pending approval', () => {
  it('are too few once the last person of the group is removed', () => {
    expect(shortWith(all, request(ops))).toBeUndefined();
    expect(shortWith([bob, carol], request(ops))).toBeUndefined();
    expect(shortWith([carol], request(ops))).toEqual({ stage: 0, groups: ['ops'] });
    expect(shortWith([], request())).toEqual({ stage: 0, groups: null });
  });

  it('are too few for a quorum that was begun: those who have responded are not counted again', () => {
    expect(shortWith(all, request(twoOfOps), respond('alice'))).toBeUndefined();
    expect(shortWith([alice, carol], request(twoOfOps), respond('alice'))).toEqual({ stage: 0, groups: ['ops'] });
    expect(shortWith([bob, carol], request(twoOfOps), deny('alice'))).toEqual({ stage: 0, groups: ['ops'] });
  });

  it('are too few for a later stage, which needs other people than the stages before it', () => {
    const twice = { stages: [stage({ groups: ['ops'] }), stage({ groups: ['ops'] })] };
    expect(shortWith(all, request(twice))).toBeUndefined();
    expect(shortWith([bob], request(twice), respond('alice'))).toBeUndefined();
    expect(shortWith([alice], request(twice), respond('alice'))).toEqual({ stage: 1, groups: ['ops'] });
  });

  it('are one of each group that is still missing', () => {
    const each = { stages: [stage({ mode: 'all-of', groups: ['ops', 'security'] })] };
    expect(shortWith([carol], request(each), respond('alice'))).toBeUndefined();
    expect(shortWith([bob], request(each), respond('alice'))).toEqual({ stage: 0, groups: ['security'] });
  });

  it('are not the requesters, under none of their names, where the rule has four eyes', () => {
    const own: Partial<ToolCallProposal> = { owner: 'ALICE@corp' };
    expect(shortWith([alice, carol], request(ops, own))).toEqual({ stage: 0, groups: ['ops'] });
    expect(shortWith([alice, carol], request({ ...ops, fourEyes: false }, own))).toBeUndefined();
  });

  it('are not a delegate and the one in whose place they responded', () => {
    const delegate = delegateOf('dan', 'alice');
    expect(shortWith([alice, bob], request(twoOfOps), respond(delegate))).toBeUndefined();
    expect(shortWith([alice, person('dan', 'ops')], request(twoOfOps), respond(delegate))).toMatchObject({ stage: 0 });
  });

  it('are enough again where an escalation asks other people', () => {
    const rule: Partial<Requirement> = {
      ...ops,
      onTimeout: 'escalate',
      escalation: [{ to: ['security'], expiresInMs: 20 * minuteMs }],
    };
    expect(shortWith([carol], request(rule))).toMatchObject({ stage: 0 });
    expect(shortWith([carol], request(rule), expire(minute(60)))).toBeUndefined();
    expect(shortWith([bob], request(rule), expire(minute(60)))).toBeUndefined();
  });

  it('are those of every requirement, after an edit under another rule', () => {
    const strict = edit('b', {
      judgement: {
        outcome: 'require',
        verdict: verdict(),
        requirement: requirement({ stages: [stage({ groups: ['security'] })] }),
      },
    });
    expect(shortWith([bob, carol], request(ops), editBy('alice', strict))).toBeUndefined();
    expect(shortWith([bob], request(ops), editBy('alice', strict))).toMatchObject({ groups: ['security'] });
  });

  it('are told by their groups and the stage', () => {
    expect(shortageDetail({ stage: 1, groups: ['ops', 'security'] })).toBe(
      'Too few people of "ops", "security" are left for stage 2, without the requesters and those who have responded.',
    );
    expect(shortageDetail({ stage: 0, groups: null })).toContain('Too few approvers are left for stage 1');
  });
});

describe('silence', () => {
  const silent = (more: Partial<Requirement> = {}) => request({ ...ops, onTimeout: 'allow', ...more });
  const end = (approvers?: readonly PossibleApprover[], at = minute(60)) => ({
    ...expire(at),
    ...(approvers !== undefined && { approvers }),
  });

  it('approves nothing once nobody is left who could have objected', () => {
    given(history(silent())).when(end(all)).thenAccepted({ automatic: true, resolution: 'approved' });
    given(history(silent()))
      .when(end([carol]))
      .thenAccepted({ expiredAt: stored(60) });
  });

  it('approves nothing where too few are left for the quorum', () => {
    const two = history(silent(twoOfOps), respond('alice'));
    given(two).when(end(all)).thenAccepted({ resolution: 'approved' });
    given(two)
      .when(end([alice, carol]))
      .thenAccepted({ expiredAt: stored(60) });
  });

  it('approves where the approvers are not known', () => {
    given(history(silent())).when(end()).thenAccepted({ resolution: 'approved' });
  });

  it('approves nothing at the end of business hours either, and ends no sooner', () => {
    // Thursday at midnight; Paris is one hour ahead of UTC.
    const businessHours: Requirement['businessHours'] = {
      ...{ zone: 'Europe/Paris', days: ['mon', 'tue'], from: '08:00', to: '18:00' },
    };
    const monday = Date.parse('2026-01-05T08:00:00.000Z');
    given(history(silent({ businessHours })))
      .when(end([carol], monday - 1))
      .thenRefused('not-due');
    given(history(silent({ businessHours })))
      .when(end([carol], monday))
      .thenAccepted({ expiredAt: '2026-01-05T08:00:00.000Z' });
  });
});

describe('an edit under a rule whose approvers the agent has named', () => {
  const judgement = {
    outcome: 'require',
    verdict: { ...verdict(), ruleId: 'strict' },
    requirement: requirement({ stages: [stage({ groups: ['security'] })] }),
  } as const;
  const strict = { ...editBy('alice', edit('b', { judgement })), approvers: all };
  const acting = (onBehalfOf: string) => history(request(ops, { onBehalfOf }));

  it('is refused, and people are asked about the same proposal as before', () => {
    given(acting('carol@corp')).when(strict).thenRefusal({
      code: 'no-approver-left',
      detail:
        'Nobody could approve the edit: onBehalfOf and parentCallId leave too few approvers for stage 2 of "strict".',
    });
    given(acting('bob')).when(strict).thenAccepted({ proposal: 2 });
  });

  it('is refused where one person would be needed for both rules', () => {
    const both = [alice, person('bob', 'ops', 'security'), person('dora', 'security')];
    const command = { ...editBy(responder('alice'), edit('b', { judgement })), approvers: both };
    given(acting('dora')).when(command).thenAccepted({ proposal: 2 });
    given(history(request(twoOfOps, { onBehalfOf: 'dora' })))
      .when(command)
      .thenRefused('no-approver-left');
  });

  it('is judged by its content where the approvers are not known, and a vote is never refused for it', () => {
    given(acting('carol'))
      .when(editBy('alice', edit('b', { judgement })))
      .thenAccepted({ proposal: 2 });
    given(acting('carol'))
      .when({ ...respond('alice'), approvers: all })
      .thenAccepted({ resolution: 'approved' });
  });
});
