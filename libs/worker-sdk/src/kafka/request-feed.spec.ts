import { describe, expect, it } from '@jest/globals';
import { createChanges } from '../ledger/changes.js';
import { createClient, type Client } from '../ledger/client.js';
import { createRefusalCheck } from './confirm-refusal.js';
import type { HeardEvent } from './heard-event.js';
import type { HeardMessage } from './heard-event.js';
import { createRequestFeed, refusalOfRequest } from './request-feed.js';

const type = 'ApprovalRequested';
const message = (ce_id: string, callId: string, runId = 'run-1', more: Record<string, string> = {}): HeardMessage => ({
  key: runId,
  headers: { ce_id, ce_type: type, ce_sequence: '7', ce_subject: callId, ...more },
  value: () =>
    JSON.stringify({
      ...{ eventId: ce_id, type, callId, runId, toolCallId: 'a', toolName: 't', agentId: 'g', revision: 1 },
      data: {},
    }),
});

const open = (followed: readonly string[] = []) => {
  const positions: string[] = [];
  const news: unknown[] = [];
  const told: unknown[] = [];
  const feed = createRequestFeed((position) => void positions.push(position), {
    follows: (runId) => followed.includes(runId),
    hear: ({ eventId }) => void told.push(eventId),
    doubtRun: (runId) => void told.push(`doubt ${runId}`),
    gap: () => void told.push('gap'),
  });
  const changes = {
    ...createChanges(),
    add: (id: string) => void news.push(id),
    addAnything: () => void news.push('anything'),
  };
  return { feed, positions, news, told, changes };
};

describe('messages on the events topic', () => {
  it('makes those look who wait for the run, once for each event however often it comes', () => {
    const { feed, positions, news, changes } = open();
    feed.watch({ runId: 'run-1', changes });
    for (let times = 0; times < 3; times += 1) feed.hear(message('e-1', 'tc_a'));
    feed.hear(message('e-2', 'tc_b', 'run-2'));
    feed.hear({ ...message('e-3', 'tc_a'), value: () => '{broken' });
    // A message that is no event tells no position either.
    expect([news, positions]).toEqual([['tc_a', 'anything'], ['7']]);
  });

  it.each([
    ['900719925474099', true],
    ['9007199254740991', true],
    ['9007199254740992', false],
    ['9999999999999999', false],
    ['-1', false],
    ['1.5', false],
    ['1e3', false],
    ['', false],
  ])('tells the position %s: %s', (ce_sequence, isTold) => {
    const { feed, positions, news, changes } = open();
    feed.watch({ runId: 'run-1', changes });
    feed.hear(message('e-1', 'tc_a', 'run-1', { ce_sequence }));
    expect([news, positions]).toEqual([['tc_a'], isTold ? [ce_sequence] : []]);
  });

  it('wakes only for the events that a caller wants', () => {
    const { feed, news, changes } = open();
    const heard: HeardEvent[] = [];
    const hear = (event: HeardEvent): boolean => heard.push(event) > 1;
    feed.watch({ runId: 'run-1', changes, hear });
    feed.hear(message('e-1', 'tc_a'));
    feed.hear(message('e-2', 'tc_b'));
    expect([heard.length, news]).toEqual([2, ['tc_b']]);
  });

  it('is told for runs that are followed without a wait, and decodes no other message', () => {
    const { feed, told } = open(['run-1']);
    feed.hear(message('e-1', 'tc_a'));
    feed.hear({
      ...message('e-2', 'tc_a', 'run-2'),
      value: () => {
        throw new Error('decoded');
      },
    });
    expect(told).toEqual(['e-1']);
  });

  it.each<[string, HeardMessage]>([
    ['of another event than its header', { ...message('e-1', 'tc_a'), value: message('e-2', 'tc_a').value }],
    ['of another call than its header', { ...message('e-1', 'tc_a'), value: message('e-1', 'tc_b').value }],
    ['of another run than its key', { ...message('e-1', 'tc_a'), value: message('e-1', 'tc_a', 'run-2').value }],
    ['that a broker was too small for', message('e-1', 'tc_a', 'run-1', { 'countersign-shortened': 'all' })],
    ['without data', { ...message('e-1', 'tc_a'), value: () => '{"data":null}' }],
  ])('puts the run in doubt by a message %s', (_what, odd) => {
    const { feed, told } = open(['run-1']);
    feed.hear(odd);
    expect(told).toEqual(['doubt run-1']);
  });

  it('hands over the events of some types in any run', () => {
    const { feed } = open();
    const heard: unknown[] = [];
    const release = feed.watchTypes({
      types: [type],
      hear: ({ runId }) => heard.push(runId),
      gap: () => heard.push('gap'),
    });
    feed.hear(message('e-1', 'tc_a', 'run-7'));
    feed.hear(message('e-2', 'tc_a', 'run-8', { ce_type: 'ExecutionClaimed' }));
    feed.gap();
    release();
    feed.hear(message('e-3', 'tc_a', 'run-9'));
    expect(heard).toEqual(['run-7', 'gap']);
  });

  it('makes everybody look who waits, when something may have been missed', () => {
    const { feed, news, told, changes } = open();
    feed.watch({ runId: 'run-1', changes });
    feed.gap();
    expect([news, told]).toEqual([['anything'], ['gap']]);
  });
});

describe('a refusal on the events topic', () => {
  const named = { requestId: 'r-1', code: 'forbidden', detail: 'no', toolCallIds: [], retryAfterMs: 60_000 };
  const data = { ...named, principal: 'billing' };
  const refused = (position: string | undefined, about: object = data): HeardMessage => ({
    key: 'run-1',
    headers: {
      ce_id: `e-${String(position)}`,
      ce_type: 'RequestRefused',
      ...(position !== undefined && { ce_sequence: position }),
    },
    value: () => JSON.stringify({ data: about }),
  });

  it('is a rumour for the one who asked, and none without a position in the log', () => {
    const { feed } = open();
    const rumours: unknown[] = [];
    feed.watchRefusal({ requestId: 'r-1', onRumour: ({ code }, position) => rumours.push([code, position]) });
    feed.hear(refused('7', { ...data, requestId: 'r-2' }));
    for (const position of [undefined, 'x', '-1', '1.5']) feed.hear(refused(position));
    expect(rumours).toEqual([]);
    feed.hear(refused('7'));
    expect(rumours).toEqual([['forbidden', 7]]);
  });

  it('counts when the log has it for this request and the own principal', () => {
    expect(refusalOfRequest({ data }, 'r-2', 'billing')).toBeUndefined();
    const own = { code: 'forbidden', problem: { retryAfterMs: 60_000 } };
    expect(refusalOfRequest({ data }, 'r-1', 'billing')).toMatchObject(own);
  });

  it('counts for no other principal, and for none when the ledger proved no sender', () => {
    for (const other of [{ ...named, principal: 'evil' }, named, { ...named, principal: null }])
      expect(refusalOfRequest({ data: other }, 'r-1', 'billing')).toBeUndefined();
  });

  it('opens one stream however often it comes, and another one only for an earlier position', async () => {
    const opened: unknown[] = [];
    const events: Client['events'] = ({ after, types } = {}) => {
      opened.push([after, types]);
      return createClient({ url: 'http://127.0.0.1:1', token: 't', fetch: () => Promise.reject(new Error()) }).events({
        signal: AbortSignal.abort(),
      });
    };
    const never = () => undefined;
    const { check } = createRefusalCheck({ events }, new AbortController().signal, never, never);
    for (const position of [900, 900, 1000, 7, 8]) check(position);
    expect(opened).toEqual([
      [899, ['RequestRefused']],
      [6, ['RequestRefused']],
    ]);
  });

  it('is checked at a later position as well, once an earlier one was refused: that one was forged', async () => {
    const opened: unknown[] = [];
    const events: Client['events'] = ({ after } = {}) => {
      opened.push(after);
      throw new Error('future-position');
    };
    const errors: unknown[] = [];
    const { check } = createRefusalCheck(
      { events },
      new AbortController().signal,
      () => undefined,
      errors.push.bind(errors),
    );
    for (const position of [900, 901]) {
      check(position);
      await Promise.resolve();
    }
    expect([opened, errors.length]).toEqual([[899, 900], 2]);
  });
});
