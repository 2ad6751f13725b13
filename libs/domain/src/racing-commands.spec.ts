import { describe, expect, it } from '@jest/globals';
import type { ToolCallEvent } from '@countersign/contracts';
import {
  cancel,
  claim,
  delegateOf,
  deny,
  digest,
  digestOf,
  edit,
  editBy,
  expire,
  minute,
  request,
  respond,
  stage,
  withdraw,
} from './testing/fixtures.js';
import { history, stateAfter } from './testing/given.js';
import { toolCallDecider } from './tool-call.decider.js';
import type { ToolCallCommand } from './tool-call.commands.js';
import { currentApproval } from './tool-call.state.js';
import type { ToolCall } from './tool-call.state.js';

/** Two people must agree, and Bob has: every command of the table is possible now. */
const required = { stages: [stage({ approve: 2 })], escalation: [{ to: ['managers'], expiresInMs: 600_000 }] };
const justBefore = minute(60) - 1;

const commands = {
  approve: respond('alice', { at: justBefore, actionDigest: digest }),
  deny: deny('alice', { at: justBefore, actionDigest: digest }),
  edit: { ...editBy('alice', edit('b')), at: justBefore, actionDigest: digest },
  withdraw: withdraw('bob', justBefore),
  cancel: cancel(justBefore),
  'end of run': cancel(justBefore, { cancelledBy: 'countersign', reach: 'any' }),
  timeout: expire(minute(60)),
  claim: claim({ at: justBefore }),
  'claim edited': claim({ at: justBefore, actionDigest: digestOf('b') }),
} satisfies Readonly<Record<string, ToolCallCommand>>;
type Name = keyof typeof commands;
const names = Object.keys(commands) as Name[];

/** `yes`: accepted; `nothing`: accepted, and no event is added; else the code of the refusal. */
function outcome(command: Name, events: readonly ToolCallEvent[]): { said: string; events: readonly ToolCallEvent[] } {
  return outcomeOf(commands[command], events);
}

function outcomeOf(command: ToolCallCommand, events: readonly ToolCallEvent[]): ReturnType<typeof outcome> {
  const decision = toolCallDecider.decide(command, stateAfter(events));
  if (decision.status === 'refused') return { said: decision.refusal.code, events: [] };
  return { said: decision.events.length === 0 ? 'nothing' : 'yes', events: decision.events };
}

const ended = ['already-resolved', 'already-resolved', 'already-resolved', 'already-resolved'];
const unclaimed = ['not-approved', 'not-approved'];
const open = ['yes', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes', ...unclaimed];

/** The result of each command after the command of the row. The columns are in the order of `commands`. */
const afterEach = {
  approve: [...ended, 'yes', 'yes', 'not-due', 'yes', 'digest-mismatch'],
  deny: [...ended, 'already-settled', 'already-settled', 'not-due', ...unclaimed],
  // The others answered the arguments before the edit. Bob's vote is void, so there is none to withdraw.
  edit: [
    'digest-mismatch',
    'digest-mismatch',
    'digest-mismatch',
    'unknown-approval',
    'yes',
    'yes',
    'yes',
    ...unclaimed,
  ],
  withdraw: ['yes', 'yes', 'yes', 'nothing', 'yes', 'yes', 'yes', ...unclaimed],
  cancel: [...ended, 'already-settled', 'already-settled', 'not-due', ...unclaimed],
  'end of run': [...ended, 'already-settled', 'already-settled', 'not-due', ...unclaimed],
  claim: open,
  'claim edited': open,
};

const tables: Readonly<Record<'deny' | 'escalate', Readonly<Record<Name, readonly string[]>>>> = {
  deny: {
    ...afterEach,
    timeout: [
      'expired',
      'expired',
      'expired',
      'expired',
      'already-settled',
      'already-settled',
      'not-due',
      ...unclaimed,
    ],
  },
  escalate: { ...afterEach, timeout: ['yes', 'yes', 'yes', 'yes', 'yes', 'yes', 'not-due', ...unclaimed] },
};

describe.each(['deny', 'escalate'] as const)('two commands at the same time, where a timeout means %s', (onTimeout) => {
  const before = history(request({ ...required, onTimeout }), respond('bob'));
  const pairs = names.flatMap((first) => names.map((second, column) => ({ first, second, column })));

  it.each(pairs)('$first, then $second: the second is told the truth', ({ first, second, column }) => {
    const one = outcome(first, before);
    const two = outcome(second, [...before, ...one.events]);
    expect(two.said).toBe(tables[onTimeout][first][column]);
  });

  it.each(pairs)('$first, then $second: the approval ends once at most', ({ first, second }) => {
    const one = outcome(first, before).events;
    const added = [...one, ...outcome(second, [...before, ...one]).events];
    expect(added.filter(isEnd).length).toBeLessThanOrEqual(1);
    const resolution = currentApproval(recorded([...before, ...added]))?.resolution.status;
    expect(resolution === 'pending').toBe(!added.some(isEnd));
  });
});

/** Two of ops must agree. Bob, who is not one of them, is Alice's delegate; so is Carol. */
const ofOps = { stages: [stage({ approve: 2, deny: 2, groups: ['ops'] })] };
const bob = delegateOf('bob', 'alice');
const voices = {
  'the delegator approves': respond('alice', { actionDigest: digest }),
  'the delegator denies': deny('alice', { actionDigest: digest }),
  'the delegator withdraws': withdraw('alice'),
  'the delegate approves': respond(bob, { actionDigest: digest }),
  'the delegate denies': deny(bob, { actionDigest: digest }),
  'the delegate withdraws': withdraw('bob'),
  'another delegate approves': respond(delegateOf('carol', 'alice'), { actionDigest: digest }),
} satisfies Readonly<Record<string, ToolCallCommand>>;
type VoiceName = keyof typeof voices;
const voiceNames = Object.keys(voices) as VoiceName[];

const none = 'unknown-approval';
const voted = 'already-voted';
const unvoted = ['yes', 'yes', none, 'yes', 'yes', none, 'yes'];
const byDelegator = [voted, voted, 'yes', voted, voted, none, voted];
const byDelegate = [voted, voted, 'yes', voted, voted, 'yes', voted];

/** The result of each command after the command of the row. The columns are in the order of `voices`. */
const afterVoice: Readonly<Record<VoiceName, readonly string[]>> = {
  'the delegator approves': byDelegator,
  'the delegator denies': byDelegator,
  'the delegator withdraws': unvoted,
  'the delegate approves': byDelegate,
  'the delegate denies': byDelegate,
  'the delegate withdraws': unvoted,
  'another delegate approves': byDelegator,
};

describe('a person and their delegates at the same time', () => {
  const before = history(request(ofOps));
  const pairs = voiceNames.flatMap((first) => voiceNames.map((second, column) => ({ first, second, column })));

  it.each(pairs)('$first, then $second: they are one voice', ({ first, second, column }) => {
    const one = outcomeOf(voices[first], before);
    const two = outcomeOf(voices[second], [...before, ...one.events]);
    expect(two.said).toBe(afterVoice[first][column]);
    const votes = currentApproval(recorded([...before, ...one.events, ...two.events]))?.votes ?? [];
    expect(votes.filter(({ status }) => status === 'counted').length).toBeLessThanOrEqual(1);
  });
});

/** A cancellation after the approval ended ends the call, and not the approval. */
function isEnd(event: ToolCallEvent): boolean {
  if (event.type === 'ApprovalResponded') return event.data.resolution !== 'pending';
  return event.type === 'ApprovalExpired' || (event.type === 'ToolCallCancelled' && event.data.approvalId !== null);
}

function recorded(events: readonly ToolCallEvent[]): ToolCall {
  const state = stateAfter(events);
  if (state.status === 'unrequested') throw new Error('the call is recorded');
  return state;
}
