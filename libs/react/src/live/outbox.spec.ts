import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { ApprovalView } from '@countersign/contracts';
import { createOutbox } from './outbox.js';
import type { Outbox } from './outbox.js';
import type { PendingStore } from './pending-store.js';

const approvalOf = (approvalId: string, more: Partial<ApprovalView> = {}): ApprovalView =>
  ({ approvalId, shownDigest: 'seen', expiresAt: null, ...more }) as ApprovalView;

/** The part of the store that an outbox looks at. */
function createList(approvals: readonly ApprovalView[]) {
  let byId = new Map(approvals.map((one) => [one.approvalId, one]));
  const changes = new Set<() => void>();
  const ends = new Set<(approvalId: string) => void>();
  const store = {
    state: () => ({ byId }),
    subscribe: (listener: () => void) => (changes.add(listener), () => changes.delete(listener)),
    onEnded: (listener: (approvalId: string) => void) => (ends.add(listener), () => ends.delete(listener)),
  } as unknown as PendingStore;
  return {
    store,
    put: (approval: ApprovalView) => {
      byId = new Map(byId).set(approval.approvalId, approval);
      for (const listener of changes) listener();
    },
    end: (approvalId: string) => {
      for (const listener of ends) listener(approvalId);
    },
  };
}

describe('a decision that is held', () => {
  let sent: string[];
  let outbox: Outbox;
  let list: ReturnType<typeof createList>;
  const hold = (approval: ApprovalView, result = '') =>
    outbox.hold({
      approval,
      type: 'approve',
      send: (isLeaving) => {
        sent.push(`${approval.approvalId}${isLeaving ? ' leaving' : ''}`);
        return Promise.resolve(result);
      },
    });
  const heldNow = () => outbox.state().held.map(({ approval }) => approval.approvalId);
  const missedNow = () => outbox.state().missed.map(({ approval, words }) => `${approval.approvalId}: ${words}`);

  beforeEach(() => {
    jest.useFakeTimers({ now: 0 });
    sent = [];
    list = createList([approvalOf('a'), approvalOf('b')]);
    outbox = createOutbox(list.store, () => 5000);
    outbox.start();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('is sent once, after its time', async () => {
    expect(hold(approvalOf('a'))).toBe(true);
    await jest.advanceTimersByTimeAsync(4999);
    expect([sent, heldNow()]).toEqual([[], ['a']]);
    await jest.advanceTimersByTimeAsync(10_000);
    expect([sent, heldNow(), missedNow()]).toEqual([['a'], [], []]);
  });

  it('is not sent after an undo', async () => {
    hold(approvalOf('a'));
    hold(approvalOf('b'));
    outbox.undo('a');
    await jest.advanceTimersByTimeAsync(10_000);
    expect(sent).toEqual(['b']);
  });

  it('is not sent when what the person saw has changed, or has ended', async () => {
    hold(approvalOf('a'));
    hold(approvalOf('b'));
    list.put(approvalOf('a', { shownDigest: 'edited' }));
    list.end('b');
    await jest.advanceTimersByTimeAsync(10_000);
    expect(sent).toEqual([]);
    expect(missedNow()).toEqual([
      'a: It changed before your answer was sent. Nothing was sent: look at it again.',
      'b: It ended before your answer was sent. Nothing of yours was sent.',
    ]);
    outbox.dismiss('a');
    outbox.dismiss('b');
    expect(missedNow()).toEqual([]);
  });

  it('stays while the list is behind the card, and other news come', async () => {
    hold(approvalOf('a', { shownDigest: 'newer' }));
    list.put(approvalOf('b', { shownDigest: 'other' }));
    list.put(approvalOf('a', { shownDigest: 'newer' }));
    await jest.advanceTimersByTimeAsync(5000);
    expect(sent).toEqual(['a']);
  });

  it('is sent at once when the page is left, and its timer sends nothing more', async () => {
    hold(approvalOf('a'));
    await outbox.flush({ isLeaving: true });
    await jest.advanceTimersByTimeAsync(10_000);
    expect(sent).toEqual(['a leaving']);
  });

  it('says why it was not recorded', async () => {
    hold(approvalOf('a'), 'bob was faster.');
    await jest.advanceTimersByTimeAsync(5000);
    expect(missedNow()).toEqual(['a: bob was faster.']);
  });

  it('is not sent by a device that slept past its time, nor when its page is left then', async () => {
    const late = 'Your device paused before your answer was sent. Nothing was sent: look at it again.';
    hold(approvalOf('a'));
    jest.setSystemTime(65_001);
    await jest.advanceTimersByTimeAsync(5000);
    expect([sent, heldNow(), missedNow()]).toEqual([[], [], [`a: ${late}`]]);
    hold(approvalOf('b'));
    jest.setSystemTime(Date.now() + 65_001);
    await outbox.flush({ isLeaving: true });
    await jest.advanceTimersByTimeAsync(10_000);
    expect([sent, missedNow()]).toEqual([[], [`a: ${late}`, `b: ${late}`]]);
  });

  it('is sent where its timer is a little late', async () => {
    hold(approvalOf('a'));
    jest.setSystemTime(50_000);
    await jest.advanceTimersByTimeAsync(5000);
    expect([sent, missedNow()]).toEqual([['a'], []]);
  });

  it('is not held where the deadline is near, where nothing is to be held, and twice', () => {
    expect(hold(approvalOf('a', { expiresAt: new Date(34_000).toISOString() }))).toBe(false);
    expect(hold(approvalOf('a', { expiresAt: new Date(36_000).toISOString() }))).toBe(true);
    expect(hold(approvalOf('a'))).toBe(false);
    expect(
      createOutbox(list.store, () => 0).hold({
        approval: approvalOf('b'),
        type: 'deny',
        send: () => Promise.resolve(''),
      }),
    ).toBe(false);
  });

  it('is dropped with the session', async () => {
    const stop = outbox.start();
    hold(approvalOf('a'));
    stop();
    await jest.advanceTimersByTimeAsync(10_000);
    expect([sent, heldNow()]).toEqual([[], []]);
  });
});
