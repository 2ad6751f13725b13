import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { BatchEvent, RefusalCode } from '@countersign/contracts';
import { batchDecider, standingOf } from './batch.decider.js';
import type { BatchCommand, BatchMember, Standing } from './batch.decider.js';
import { fold } from './decider.js';
import {
  answer,
  cancel,
  claim,
  deny,
  expire,
  lapseApproval,
  lapseClaim,
  minute,
  report,
  request,
  requestAllowed,
  requestBlocked,
  respond,
  startMs,
  stored,
} from './testing/fixtures.js';
import { history, stateAfter } from './testing/given.js';

const [first, second] = ['tc_aaaaaaaaaaaaaaaaaaaaaaaaaa', 'tc_bbbbbbbbbbbbbbbbbbbbbbbbbb'];
const about = { callIds: [first, second], requestedBy: 'agent', callId: first } as const;
const members = (one: Standing, other: Standing): BatchMember[] => [
  { callId: first, standing: one },
  { callId: second, standing: other },
];

const begin = (looked = members('permitted', 'permitted')): BatchCommand => ({
  type: 'BeginBatch',
  at: startMs,
  ...about,
  members: looked,
});
const breakIt = (looked = members('permitted', 'permitted')): BatchCommand => ({
  type: 'BreakBatch',
  at: startMs,
  ...about,
  state: 'cancelled',
  reason: 'not needed',
  brokenBy: 'agent',
  members: looked,
});

const hasBegun: BatchEvent = {
  type: 'BatchBegun',
  data: { ...about, callIds: [...about.callIds], begunAt: stored(0) },
};
const isBroken: BatchEvent = {
  type: 'BatchBroken',
  data: {
    ...about,
    callIds: [...about.callIds],
    state: 'cancelled',
    reason: 'not needed',
    brokenBy: 'agent',
    brokenAt: stored(0),
  },
};

const given = (...events: readonly BatchEvent[]) => ({
  when: (command: BatchCommand) => {
    const decision = batchDecider.decide(command, fold(batchDecider, events));
    return {
      then: (...expected: readonly BatchEvent[]) => {
        expect(decision).toEqual({ status: 'accepted', events: expected });
      },
      thenRefused: (code: RefusalCode, extra?: object) => {
        expect(decision).toMatchObject({
          status: 'refused',
          refusal: extra === undefined ? { code } : { code, extra },
        });
      },
    };
  },
});

describe('BeginBatch', () => {
  it('is recorded once every member is permitted or has its answer', () => {
    given().when(begin()).then(hasBegun);
    given()
      .when(begin(members('permitted', 'answered')))
      .then(hasBegun);
  });

  it.each(['waiting', 'ended', 'missing'] as const)('is refused while a member is %s, and names it', (standing) => {
    given()
      .when(begin(members('permitted', standing)))
      .thenRefused('batch-incomplete', { callIds: [second] });
  });

  it('is refused when a member was not looked up', () => {
    given()
      .when(begin([{ callId: first, standing: 'permitted' }]))
      .thenRefused('batch-incomplete', { callIds: [second] });
  });

  it('is recorded where a member has begun under an older version, which recorded no word', () => {
    given()
      .when(begin(members('permitted', 'begun')))
      .then(hasBegun);
    given()
      .when(begin(members('begun', 'ended')))
      .then(hasBegun);
  });

  it('adds nothing to a batch that has begun, and is refused in a broken one, in any state of the members', () => {
    given(hasBegun).when(begin([])).then();
    given(isBroken)
      .when(begin())
      .thenRefused('batch-incomplete', { callIds: [first], batch: 'broken' });
  });
});

describe('BreakBatch', () => {
  it('is recorded before any member has begun', () => {
    given().when(breakIt()).then(isBroken);
    given()
      .when(breakIt(members('ended', 'waiting')))
      .then(isBroken);
  });

  it('is refused once the batch has begun, also under an older version, which recorded no word', () => {
    given(hasBegun).when(breakIt([])).thenRefused('batch-begun');
    given()
      .when(breakIt(members('permitted', 'begun')))
      .thenRefused('batch-begun');
  });

  it('adds nothing to a broken batch', () => {
    given(isBroken).when(breakIt([])).then();
  });
});

describe('any sequence of commands', () => {
  const standings = fc.constantFrom<Standing[]>('missing', 'waiting', 'permitted', 'answered', 'begun', 'ended');
  const command = fc
    .tuple(fc.boolean(), standings, standings)
    .map(([begins, one, other]) => (begins ? begin : breakIt)(members(one, other)));

  it('records one word at most, and the word never changes', () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 12 }), (commands) => {
        const events: BatchEvent[] = [];
        for (const one of commands) {
          const decision = batchDecider.decide(one, fold(batchDecider, events));
          if (decision.status === 'accepted') events.push(...decision.events);
        }
        expect(events.length).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('keeps the first word of a stream that somehow holds two', () => {
    expect(fold(batchDecider, [hasBegun, isBroken]).status).toBe('begun');
    expect(fold(batchDecider, [isBroken, hasBegun]).status).toBe('broken');
  });
});

describe('the standing of a call', () => {
  it.each([
    ['waiting', history(request())],
    ['permitted', history(requestAllowed())],
    ['permitted', history(request(), respond('alice'))],
    ['answered', history(request(), answer('alice', 'done by hand'))],
    ['begun', history(requestAllowed(), claim())],
    ['begun', history(requestAllowed({ idempotent: true }), claim(), lapseClaim())],
    ['begun', history(requestAllowed(), claim(), report())],
    ['begun', history(requestAllowed(), claim(), lapseClaim())],
    ['ended', history(requestBlocked())],
    ['ended', history(request(), deny('alice'))],
    ['ended', history(request(), expire())],
    ['ended', history(request(), respond('alice'), lapseApproval(minute(65)))],
    ['ended', history(request(), cancel())],
  ] as const)('is %s', (standing, events) => {
    const state = stateAfter(events);
    expect(state.status === 'recorded' && standingOf(state)).toBe(standing);
  });
});
