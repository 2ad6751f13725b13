import { startStopwatch } from '@countersign/runtime';
import { createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
import type { ExecutionAnswer } from './executions.js';
import { Lease } from './lease.js';

function open(answer: () => Promise<ExecutionAnswer>) {
  const clock = createVirtualClock();
  let suspendedMs = 0;
  const machine = { ...clock, now: () => clock.now() + suspendedMs };
  const renewals: number[] = [];
  let lost = 0;
  const lease = new Lease({
    leaseMs: 600,
    sinceAskedMs: startStopwatch(machine),
    renew: () => {
      renewals.push(clock.monotonic());
      return answer();
    },
    receipt: () => 'receipt-0',
    onLost: () => void (lost += 1),
    clock: machine,
    log: createSilentLog(),
  });
  /** The machine sleeps: its monotonic clock stands still, its wall clock does not. */
  const suspend = (forMs: number): void => void (suspendedMs += forMs);
  return { clock, renewals, lease, suspend, lost: () => lost };
}

describe('a lease', () => {
  it('is renewed in time, until it ends', async () => {
    const { clock, renewals, lease } = open(async () => ({ status: 'recorded' }));
    await clock.advanceAsync(2_000);
    expect(renewals).toEqual([200, 400, 600, 800, 1000, 1200, 1400, 1600, 1800, 2000]);
    expect(lease.holds()).toBe(true);
    lease.end();
    expect(lease.holds()).toBe(false);
    expect(clock.nextInMs()).toBeUndefined();
  });

  it('has the receipt of its last renewal', async () => {
    let renewals = 0;
    const { clock, lease } = open(async () => {
      renewals += 1;
      const last = renewals;
      return { status: 'recorded', receipt: () => `receipt-${String(last)}` };
    });
    expect(lease.receipt()).toBe('receipt-0');
    await clock.advanceAsync(400);
    expect(lease.receipt()).toBe('receipt-2');
    lease.end();
  });

  it('is lost, once, when another attempt has begun', async () => {
    const refusal = { code: 'stale-claim', detail: '' } as const;
    const { clock, renewals, lease, lost } = open(async () => ({ status: 'refused', refusal }));
    await clock.advanceAsync(2_000);
    expect([renewals, lost(), lease.holds()]).toEqual([[200], 1, false]);
  });

  it('is not lost while the ledger is down, but holds no longer than it was given', async () => {
    let down = true;
    const { clock, lease, lost } = open(async () => {
      if (down) throw new Error('down');
      return { status: 'recorded' };
    });
    await clock.advanceAsync(599);
    expect([lease.holds(), lost()]).toEqual([true, 0]);
    await clock.advanceAsync(1);
    expect([lease.holds(), lost()]).toEqual([false, 0]);
    down = false;
    await clock.advanceAsync(200);
    expect(lease.holds()).toBe(true);
    lease.end();
  });

  it('holds no longer after the machine was suspended, until it is renewed', async () => {
    const { clock, lease, suspend } = open(async () => ({ status: 'recorded' }));
    await clock.advanceAsync(100);
    suspend(500);
    expect(lease.holds()).toBe(false);
    await clock.advanceAsync(100);
    expect(lease.holds()).toBe(true);
    lease.end();
  });

  it('holds from when it was asked for, not from when the answer came', async () => {
    let answer: (value: ExecutionAnswer) => void = () => undefined;
    const { clock, lease } = open(() => new Promise((resolve) => (answer = resolve)));
    await clock.advanceAsync(700);
    answer({ status: 'recorded' });
    await clock.advanceAsync(99);
    expect(lease.holds()).toBe(true);
    await clock.advanceAsync(1);
    expect(lease.holds()).toBe(false);
    lease.end();
  });

  it('that ends while it is being renewed stays ended', async () => {
    let answer: (value: ExecutionAnswer) => void = () => undefined;
    const { clock, lease, lost } = open(() => new Promise((resolve) => (answer = resolve)));
    await clock.advanceAsync(200);
    lease.end();
    answer({ status: 'refused', refusal: { code: 'stale-claim', detail: '' } });
    await clock.advanceAsync(1_000);
    expect([lost(), clock.nextInMs()]).toEqual([0, undefined]);
  });
});
