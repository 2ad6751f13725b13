import { describe, expect, it } from '@jest/globals';
import type { StoredEvent } from '@countersign/contracts';
import { approvalId, approvedStory, minute, recordedAt, story } from '../testing/story.js';
import type { Story } from '../testing/story.js';
import { wordsOf } from '../testing/words-of.js';
import { createLegality } from './legality.js';
import { readStored } from './stored-events.js';

/** What the judge finds about the last event of a story. */
function findingOf({ events }: Story): readonly string[] {
  const legality = createLegality(new Map());
  const judged = events.map((stored: StoredEvent) => {
    const event = readStored(stored);
    if ('unreadable' in event) throw new Error(event.unreadable);
    return legality.judge(event).illegal.map(({ rule }) => rule);
  });
  expect(judged.slice(0, -1).flat()).toEqual([]);
  return judged.at(-1) ?? [];
}

const upward = { onTimeout: 'escalate' as const, escalation: [{ to: ['managers'], expiresInMs: 600_000 }] };
/** Events that begin the times of `due`. */
const begins = ['ApprovalRequested', 'ApprovalResponded', 'ExecutionClaimRenewed'];
const asked = story().policy().request().ask();
const idempotent = story().policy().request({ idempotent: true }).allow().claim();
const twoSecondsBefore = (minutes: number): string => new Date(Date.parse(minute(minutes)) - 2000).toISOString();

/** Each happens at minute 12, when its time has come. */
const due: readonly (readonly [name: string, rule: string, log: Story])[] = [
  [
    'silence approves',
    'silence',
    story()
      .policy()
      .request()
      .ask({ expiresAt: minute(12) }, { onTimeout: 'allow', expiresInMs: 720_000 })
      .respond('policy', {
        ...{ automatic: true, via: 'policy', groups: [], assurance: 'low', respondedAt: minute(12) },
        ...{ resolution: 'approved', executeBy: minute(22) },
      }),
  ],
  [
    'a question expires',
    'deadline',
    asked.about('ApprovalExpired', { approvalId: approvalId(), expiredAt: minute(12) }),
  ],
  [
    'more people are asked',
    'deadline',
    story()
      .policy()
      .request()
      .ask({}, upward)
      .about('ApprovalEscalated', {
        ...{ approvalId: approvalId(), level: 1, to: ['managers'], requirement: 0, expiresAt: minute(22) },
        escalatedAt: minute(12),
      }),
  ],
  [
    'the right to run ends',
    'deadline',
    approvedStory().about('ApprovalLapsed', { approvalId: approvalId(), lapsedAt: minute(12) }),
  ],
  [
    'a lease ends',
    'lease',
    idempotent
      .about('ExecutionClaimRenewed', { attempt: 1, leaseUntil: minute(12), renewedAt: minute(3) })
      .about('ExecutionLapsed', { attempt: 1, lapsedAt: minute(12) }),
  ],
];

describe('a time that has come', () => {
  it.each(due)('is at the record of the event by which %s', (_, rule, log) => {
    expect(findingOf(log)).toEqual([]);
    expect(findingOf(recordedAt(minute(9), log))).toEqual([rule]);
  });

  it.each(due)('is at the record of the event that began the time, by which %s', (_, rule, log) => {
    const begun = log.events.slice(0, -1).findLast(({ type }) => begins.includes(type));
    const late = log.events.map((event) => (event === begun ? { ...event, recordedAt: minute(11) } : event));
    const end = (at: string): Story => recordedAt(at, story(late));
    expect(findingOf(end(minute(12)))).toEqual([rule]);
    expect(findingOf(end(minute(23)))).toEqual([]);
  });

  it('is one by the clock of the process, which differs from the one of the store by two seconds at most', () => {
    const [, , silence] = due[0] as (typeof due)[number];
    expect(findingOf(recordedAt(twoSecondsBefore(12), silence))).toEqual([]);
    const early = new Date(Date.parse(twoSecondsBefore(12)) - 1).toISOString();
    expect(findingOf(recordedAt(early, silence))).toEqual(['silence']);
  });
});

describe('silence approves', () => {
  const [, , silence] = due[0] as (typeof due)[number];

  it('is listed where its record is before its deadline, by no more than a clock explains', () => {
    expect(wordsOf(silence)).not.toContain('early-silence');
    const early = new Date(Date.parse(minute(12)) - 1).toISOString();
    expect(wordsOf(recordedAt(early, silence))).toContain('early-silence');
  });

  const started = (role: string, startedAt: string): StoredEvent => {
    const data = { processId: 'p', role, version: '1', commit: null, files: {}, startedAt };
    return story().append('system-default-p', 'ProcessStarted', data).events[0] as StoredEvent;
  };
  /** The same log a week later, with a start before the silence. */
  const withStart = (role: string, minutes: number, log = silence): Story => {
    const all = [...log.events.slice(0, -1), started(role, minute(minutes)), ...log.events.slice(-1)];
    return story(JSON.parse(JSON.stringify(all).replaceAll('2026-11-27', '2026-12-04')) as StoredEvent[]);
  };

  it('only where no start of the server says that it was away', () => {
    expect(findingOf(withStart('standalone', 5))).toEqual(['silence']);
    expect(findingOf(withStart('standalone', -5))).toEqual([]);
    // Another process of a cluster may have gone on.
    expect(findingOf(withStart('projector', 5))).toEqual([]);
  });

  it('is listed where a start that says it was before the question was recorded after it', () => {
    const backdated = withStart('standalone', -5);
    expect(findingOf(backdated)).toEqual([]);
    expect(wordsOf(backdated)).toContain('late-start');
    const [policyInForce, ...others] = backdated.events as [StoredEvent, ...StoredEvent[]];
    const [start, last] = others.splice(-2) as [StoredEvent, StoredEvent];
    expect(wordsOf(story([policyInForce, start, ...others, last]))).not.toContain('late-start');
    expect(wordsOf(withStart('projector', -5))).not.toContain('late-start');
  });

  it('is listed where it was recorded long after its deadline, and says that it was not', () => {
    const recorded = (ms: number) => wordsOf(recordedAt(new Date(Date.parse(minute(12)) + ms).toISOString(), silence));
    expect(recorded(12_000)).not.toContain('late-silence');
    expect(recorded(12_001)).toContain('late-silence');
  });

  it('until ten seconds after its deadline', () => {
    const respondedAt = (ms: number): Story => {
      const at = new Date(Date.parse(minute(12)) + ms).toISOString();
      const executeBy = new Date(Date.parse(at) + 600_000).toISOString();
      const last = silence.events.at(-1) as StoredEvent;
      const data = { ...(last.data as object), respondedAt: at, executeBy };
      return withStart('standalone', -5, story([...silence.events.slice(0, -1), { ...last, data, recordedAt: at }]));
    };
    expect(findingOf(respondedAt(10_000))).toEqual([]);
    expect(findingOf(respondedAt(10_001))).toEqual(['silence']);
  });
});
