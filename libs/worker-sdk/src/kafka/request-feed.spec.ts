import { describe, expect, it } from '@jest/globals';
import { createChanges } from '../changes.js';
import { createRequestFeed } from './request-feed.js';
import type { HeardMessage } from './request-feed.js';

const message = (ce_id: string, ce_subject: string | undefined, key = 'run-1'): HeardMessage => ({
  key,
  headers: { ce_id, ce_type: 'ApprovalRequested', ce_sequence: '7', ...(ce_subject !== undefined && { ce_subject }) },
  value: () => '',
});

describe('messages on the events topic', () => {
  const open = () => {
    const positions: string[] = [];
    const feed = createRequestFeed((position) => void positions.push(position));
    const changes = createChanges();
    const news: unknown[] = [];
    feed.watch({
      runId: 'run-1',
      changes: { ...changes, add: (id) => void news.push(id), addAnything: () => void news.push('anything') },
    });
    return { feed, positions, news };
  };

  it('makes those look who wait for the run, once for each event however often it comes', () => {
    const { feed, positions, news } = open();
    for (let times = 0; times < 3; times += 1) feed.hear(message('e-1', 'tc_a'));
    feed.hear(message('e-2', 'tc_b', 'run-2'));
    feed.hear(message('e-3', undefined));
    expect([news, positions]).toEqual([
      ['tc_a', 'anything'],
      ['7', '7'],
    ]);
  });

  it('is no refusal until the ledger says so itself', async () => {
    const { feed } = open();
    const changes = createChanges();
    const rumours: string[] = [];
    const onRumour = ({ code }: { readonly code: string }): void => void rumours.push(code);
    feed.watch({ runId: 'run-1', requestId: 'r-1', changes, onRumour });
    const data = { requestId: 'r-1', code: 'forbidden', detail: 'no', toolCallIds: [], retryAfterMs: 60_000 };
    const headers = { ce_id: 'e-9', ce_type: 'RequestRefused' };
    feed.hear({ key: 'run-1', headers, value: () => JSON.stringify({ data }) });
    feed.refuse({ data: { ...data, requestId: 'r-2' } });
    changes.wake();
    await expect(changes.next(new AbortController().signal)).resolves.toEqual(new Set());
    expect(rumours).toEqual(['forbidden']);
    feed.refuse({ data });
    await expect(changes.next(new AbortController().signal)).rejects.toMatchObject({
      code: 'forbidden',
      problem: { retryAfterMs: 60_000 },
    });
  });

  it('makes everybody look who waits, when something may have been missed', () => {
    const { feed, news } = open();
    feed.gap();
    expect(news).toEqual(['anything']);
  });
});
