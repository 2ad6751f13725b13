import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { answerableAtMs, defaultPace, isFast, readingMs } from './attention.js';
import { history, stateAfter } from './testing/given.js';
import { editBy, expire, minute, request, respond, responder, stage, withdraw } from './testing/fixtures.js';
import type { ToolCallCommand } from './tool-call.commands.js';

const twoStages = { stages: [stage({ groups: ['ops'] }), stage({ groups: ['legal'] })] };
const lawyer = responder('lena', { groups: ['legal'] });

/** When the author of the last vote could first give it, in minutes after the request. */
const answerable = (...commands: readonly ToolCallCommand[]): number => {
  const state = stateAfter(history(...commands));
  const approval = state.status === 'recorded' ? state.approvals.at(-1) : undefined;
  const vote = approval?.votes.at(-1);
  if (approval === undefined || vote === undefined) throw new Error('there is no vote');
  return (answerableAtMs(approval, vote) - minute(0)) / 60_000;
};

describe('a vote could be given', () => {
  it('from the request on', () => {
    expect(answerable(request(), respond('alice'))).toBe(0);
  });

  it('in a later stage, from the last vote that satisfied the earlier one', () => {
    expect(answerable(request(twoStages), respond('alice'), respond(lawyer, { at: minute(9) }))).toBe(5);
    const alice = [respond('alice'), withdraw('alice'), respond('alice', { at: minute(8) })];
    expect(answerable(request(twoStages), ...alice, respond(lawyer, { at: minute(9) }))).toBe(8);
  });

  it('from an escalation on, by those who may vote because of it', () => {
    const escalates = {
      stages: [stage({ groups: ['ops'] })],
      onTimeout: 'escalate' as const,
      escalation: [{ to: ['managers'], expiresInMs: 60 * 60_000 }],
    };
    const manager = responder('mia', { groups: ['managers'] });
    expect(answerable(request(escalates), expire(), respond(manager, { at: minute(70) }))).toBe(60);
    expect(answerable(request(escalates), expire(), respond('alice', { at: minute(70) }))).toBe(0);
  });

  it('from the last edit on, because the arguments are new', () => {
    const both = { stages: [stage({ approve: 2 })] };
    expect(answerable(request(both), editBy('alice'), respond('bob', { at: minute(9) }))).toBe(5);
    expect(answerable(request(both), respond('alice'), respond('bob', { at: minute(9) }))).toBe(0);
  });
});

describe('the least time to read', () => {
  it('is 2 s and 10 ms for each character, at most a minute', () => {
    expect([0, 100, 10_000].map((characters) => readingMs(defaultPace, characters))).toEqual([2_000, 3_000, 60_000]);
  });

  it('never shrinks with more characters', () => {
    fc.assert(
      fc.property(fc.nat(100_000), fc.nat(100_000), (one, more) => {
        expect(readingMs(defaultPace, one + more)).toBeGreaterThanOrEqual(readingMs(defaultPace, one));
      }),
    );
  });

  it.each([
    ['approve', 1_999, true],
    ['approve', 2_000, false],
    ['deny', 1, false],
    ['answer', 1, false],
  ] as const)('%s after %i ms is fast: %s', (type, tookMs, expected) => {
    const decision = type === 'answer' ? { type, output: null } : { type };
    expect(isFast({ decision }, tookMs, 2_000)).toBe(expected);
  });
});
