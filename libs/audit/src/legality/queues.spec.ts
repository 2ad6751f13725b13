import { describe, expect, it } from '@jest/globals';
import { aboutCall, idOf, requestCall } from '../testing/named-call.js';
import { minute, story, verdict } from '../testing/story.js';
import type { Story } from '../testing/story.js';
import { wordsOf } from '../testing/words-of.js';
import { createLegality } from './legality.js';
import { readStored } from './stored-events.js';

type Members = Readonly<Record<string, unknown>>;

/** A log of sequential calls of one run, each with its place in the queue when it is requested. */
interface Run {
  readonly told: Story;
  readonly request: (name: string, more?: Members) => Run;
  /** The request alone, before its place. */
  readonly asked: (name: string, more?: Members) => Run;
  readonly place: (name: string) => Run;
  readonly then: (name: string, type: Parameters<Story['append']>[1], data?: Members) => Run;
  readonly turn: (name: string) => Run;
  readonly cancel: (name: string) => Run;
}

function run(told: Story = story().policy()): Run {
  const then: Run['then'] = (name, type, data) => run(aboutCall(told, name, type, data));
  return {
    ...{ told, then },
    asked: (name, more = {}) => run(requestCall(told, name, { batchMode: 'sequential', ...more })),
    place: (name) => then(name, 'ToolCallQueued', { verdict: verdict('allow'), question: null, queuedAt: minute(0) }),
    request: (name, more = {}) => run(told).asked(name, more).place(name),
    turn: (name) => then(name, 'ToolCallAllowed', { verdict: verdict('allow'), allowedAt: minute(1) }),
    cancel: (name) =>
      then(name, 'ToolCallCancelled', {
        ...{ approvalId: null, reason: 'stop', cancelledBy: 'countersign', cancelledAt: minute(1) },
      }),
  };
}

const blocked = (before: Run, name: string): Run =>
  before.then(name, 'ToolCallBlocked', { verdict: verdict('block'), reason: 'no', blockedAt: minute(0) });
const early = (name: string): string => `turn: the call ${idOf(name)} before it in its queue was not settled`;
const turnsOf = ({ told }: Run): readonly string[] => wordsOf(told).filter((word) => word.startsWith('turn'));
const inside = (callId: string): Members => ({
  chain: [{ callId, agentId: 'agent', toolName: 'refund', runId: 'run', requestedBy: 'agent' }],
});
const two = run().request('a').request('b');

describe('the turn of a sequential call', () => {
  it.each<[string, Run]>([
    ['is that of the first one', two.turn('a')],
    ['comes when the one before was cancelled', two.cancel('a').turn('b')],
    ['waits for no call behind it', two.request('c').turn('a')],
    ['does not wait for a call that cannot be read', two.then('a', 'ExecutionClaimed').turn('b')],
    ['waits for no call of another principal', run().request('a', { requestedBy: 'other' }).request('b').turn('b')],
    ['waits for no call inside another call', run().request('a', inside('tc_outer')).request('b').turn('b')],
  ])('%s', (_, told) => {
    expect(turnsOf(told)).toEqual([]);
  });

  it.each<[string, string, Run]>([
    ['the call before it waits', 'a', two.turn('b')],
    ['the call before it may run', 'a', two.turn('a').turn('b')],
    ['only one of two before it has ended', 'b', two.request('c').cancel('a').turn('c')],
    [
      'one before it inside the same call waits',
      'a',
      run().request('a', inside('tc_x')).request('b', inside('tc_x')).turn('b'),
    ],
  ])('is found where %s', (_, name, told) => {
    expect(turnsOf(told)).toEqual([early(name)]);
  });
});

const step = (...names: readonly string[]): Members => ({ batchCallIds: names.map(idOf) });
const later = { requestedAt: minute(1) };

describe('the place of a sequential call', () => {
  it.each<[string, Run]>([
    ['is that of its request', two],
    ['is that of its request in a step', run().request('a', step('a', 'b')).request('b', step('a', 'b'))],
    ['waits for no call of another principal', run().asked('a', { requestedBy: 'other' }).request('b')],
    ['waits for no call that the policy blocked', blocked(run().asked('a'), 'a').request('b')],
    ['waits for no call that cannot be read', run().asked('a').then('a', 'ExecutionClaimed').request('b')],
    [
      'may be another one where its step was requested again',
      run().request('b', step('b', 'a')).request('a', step('a', 'b')),
    ],
  ])('%s', (_, told) => {
    expect(turnsOf(told)).toEqual([]);
  });

  it('is found where a call that was requested before it has none', () => {
    const reordered = run().asked('a').asked('b').place('b').place('a');
    expect(turnsOf(reordered)).toEqual([`turn: the call ${idOf('a')} was requested before it, and had no place yet`]);
  });

  it('is found where its request names it before one that was recorded before it', () => {
    const reordered = run()
      .request('b', step('a', 'b', 'c'))
      .request('a', step('a', 'b', 'c'))
      .request('c', step('a', 'b', 'c'));
    expect(turnsOf(reordered)).toEqual([
      `turn: its request names it before ${idOf('b')}, which was recorded before it`,
    ]);
  });

  it('is listed where the calls of its step say other times', () => {
    const apart = run()
      .request('b', step('a', 'b'))
      .request('a', { ...step('a', 'b'), ...later });
    expect(turnsOf(apart)).toEqual([]);
    expect(wordsOf(apart.told)).toContain('step-apart');
  });
});

it('the turn of a call is said not to be compared where the file has that call alone', () => {
  const legality = createLegality(new Map(), { policies: [], isWhole: false });
  const words = two.turn('b').told.events.flatMap((stored): readonly string[] => {
    const event = readStored(stored);
    return 'unreadable' in event ? [event.unreadable] : legality.judge(event).unproven;
  });
  expect(words.filter((word) => word.startsWith('turn'))).toEqual(['turn-order']);
});
