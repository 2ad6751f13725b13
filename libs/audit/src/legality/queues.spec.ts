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
  readonly then: (name: string, type: Parameters<Story['append']>[1], data?: Members) => Run;
  readonly turn: (name: string) => Run;
  readonly cancel: (name: string) => Run;
}

function run(told: Story = story().policy()): Run {
  const then: Run['then'] = (name, type, data) => run(aboutCall(told, name, type, data));
  return {
    ...{ told, then },
    request: (name, more = {}) =>
      run(requestCall(told, name, { batchMode: 'sequential', ...more })).then(name, 'ToolCallQueued', {
        ...{ verdict: verdict('allow'), question: null, queuedAt: minute(0) },
      }),
    turn: (name) => then(name, 'ToolCallAllowed', { verdict: verdict('allow'), allowedAt: minute(1) }),
    cancel: (name) =>
      then(name, 'ToolCallCancelled', {
        ...{ approvalId: null, reason: 'stop', cancelledBy: 'countersign', cancelledAt: minute(1) },
      }),
  };
}

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

it('the turn of a call is said not to be compared where the file has that call alone', () => {
  const legality = createLegality(new Map(), { policies: [], isWhole: false });
  const words = two.turn('b').told.events.flatMap((stored): readonly string[] => {
    const event = readStored(stored);
    return 'unreadable' in event ? [event.unreadable] : legality.judge(event).unproven;
  });
  expect(words.filter((word) => word.startsWith('turn'))).toEqual(['turn-order']);
});
