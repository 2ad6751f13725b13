import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import type { ToolCallView } from '@countersign/contracts';
import { whileFrozen } from '../freeze.ts';
import type { CallEvent, Entry } from './audit/log.js';
import { byCall } from './audit/log.js';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';
import { install } from './harness/standalone.js';
import { eventually } from './harness/wait.js';
import { respond, waitFor } from './traffic/approval-scenes.js';
import { accepted, claim, pendingIdOf, requestOne } from './traffic/scene.js';
import type { Stage } from './traffic/scene.js';

cleanUpAfterEach();

const dayMs = 24 * 60 * 60 * 1000;

type EventOf<T extends CallEvent['type']> = CallEvent & { readonly type: T };

function eventsOf<T extends CallEvent['type']>(
  entries: readonly Entry[],
  callId: string,
  type: T,
): readonly EventOf<T>[] {
  const events = byCall(entries).get(callId) ?? [];
  return events.filter((event): event is EventOf<T> => event.type === type);
}

/** Passes the time until a moment on the wall clock. */
async function until(time: string | number): Promise<void> {
  const ms = (typeof time === 'string' ? Date.parse(time) : time) - Date.now();
  if (ms > 0) await sleep(ms);
}

function expiryOf(call: ToolCallView): string {
  const expiresAt = call.approval?.expiresAt;
  if (expiresAt === undefined || expiresAt === null) throw new Error(`${call.callId} asks without a deadline`);
  return expiresAt;
}

/** How late each of the calls was recorded as expired, in ms. */
function delaysOf(entries: readonly Entry[], calls: readonly ToolCallView[]): readonly number[] {
  return calls.map((call) => {
    const [expired, ...more] = eventsOf(entries, call.callId, 'ApprovalExpired');
    expect(more).toEqual([]);
    return Date.parse(expired?.recordedAt ?? '') - Date.parse(expiryOf(call));
  });
}

describe('the deadline of an approval', () => {
  test('is recorded within a second, for each of many', async () => {
    const { stage, stopAndRead } = await install();
    const calls = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        requestOne(stage, { needsApproval: true, expiresInMs: 2000 + 20 * index }),
      ),
    );
    await Promise.all(calls.map(({ callId }) => waitFor(stage, callId, 'decided')));
    const delays = delaysOf(await stopAndRead(), calls);
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...delays)).toBeLessThan(1000);
  }, 120_000);

  test('ends a long poll within a second, with the state expired', async () => {
    const { stage, ledger } = await install();
    const call = await requestOne(stage, { needsApproval: true, expiresInMs: 1500 });
    const waited = accepted(stage, 'look', await ledger.call(call.callId, '?waitMs=30000&until=decided'));
    expect(waited).toMatchObject({ state: 'expired', approval: { state: 'expired' } });
    const lateMs = Date.now() - Date.parse(expiryOf(call));
    expect(lateMs).toBeGreaterThanOrEqual(0);
    expect(lateMs).toBeLessThan(1000);
  }, 120_000);

  test('that passes while no process runs is recorded within a second of the next start, and an answer is refused', async () => {
    const { stage, ledger, server, restart, stopAndRead } = await install();
    const short = await requestOne(stage, { needsApproval: true, expiresInMs: 1200 });
    const long = await requestOne(stage, { needsApproval: true, expiresInMs: 60_000 });
    await server().stop('SIGKILL');
    await until(expiryOf(short));
    await restart();
    const startedAt = Date.now();
    const late = await ledger.respond(pendingIdOf(short), { decision: { type: 'approve' } });
    expect(late).toMatchObject({ status: 'refused', httpStatus: 410, code: 'expired' });
    expect(await waitFor(stage, short.callId, 'decided')).toMatchObject({ state: 'expired' });
    expect(Date.now() - startedAt).toBeLessThan(1000);
    await respond(stage, long, { type: 'approve' });
    const entries = await stopAndRead();
    expect(eventsOf(entries, short.callId, 'ApprovalExpired')).toHaveLength(1);
    expect(eventsOf(entries, long.callId, 'ApprovalExpired')).toHaveLength(0);
  }, 120_000);

  test('that passes while the process is halted counts as well', async () => {
    const { stage, ledger, server } = await install();
    const call = await requestOne(stage, { needsApproval: true, expiresInMs: 700 });
    await whileFrozen(server().pid, () => until(Date.parse(expiryOf(call)) + 300));
    const late = await ledger.respond(pendingIdOf(call), { decision: { type: 'approve' } });
    expect(late).toMatchObject({ status: 'refused', code: 'expired' });
    expect((await waitFor(stage, call.callId, 'decided')).state).toBe('expired');
  }, 120_000);

  test('of 60 days does not come early, which a timer of that length would', async () => {
    const { stage, ledger, stopAndRead } = await install();
    const never = await requestOne(stage, { needsApproval: true, expiresInMs: 'never' });
    const far = await requestOne(stage, { needsApproval: true, expiresInMs: 60 * dayMs });
    const near = await requestOne(stage, { needsApproval: true, expiresInMs: 1500 });
    await waitFor(stage, near.callId, 'decided');
    for (const { callId } of [never, far]) {
      expect(accepted(stage, 'look', await ledger.call(callId)).state).toBe('awaiting_approval');
    }
    const entries = await stopAndRead();
    expect(eventsOf(entries, far.callId, 'ApprovalExpired')).toEqual([]);
    expect(byCall(entries).get(far.callId)).toHaveLength(2);
  }, 120_000);
});

test('an approval that is not claimed in time lapses within a second, also across a restart, and cannot be claimed', async () => {
  const policy = join(temporaryFolder(), 'policy.yaml');
  writeFileSync(policy, 'version: 1\ndefaults: { executeBy: 1s }\n');
  const { stage, ledger, server, restart, stopAndRead } = await install({ COUNTERSIGN_POLICY: policy });
  const [seen, missed] = [
    await requestOne(stage, { needsApproval: true }),
    await requestOne(stage, { needsApproval: true }),
  ];
  await respond(stage, seen, { type: 'approve' });
  expect((await waitFor(stage, seen.callId, 'settled')).state).toBe('expired');
  await respond(stage, missed, { type: 'approve' });
  await server().stop('SIGKILL');
  await sleep(1000);
  await restart();
  for (const { callId } of [seen, missed]) {
    const reply = await ledger.claim(callId, { resolverId: 'late', leaseMs: 1000 });
    expect(reply).toMatchObject({ status: 'refused', httpStatus: 409, code: 'approval-lapsed' });
  }
  expect((await waitFor(stage, missed.callId, 'settled')).state).toBe('expired');
  const entries = await stopAndRead();
  const [answer] = eventsOf(entries, seen.callId, 'ApprovalResponded');
  const [lapse] = eventsOf(entries, seen.callId, 'ApprovalLapsed');
  const delayMs = Date.parse(lapse?.recordedAt ?? '') - Date.parse(answer?.data.executeBy ?? '');
  expect(delayMs).toBeGreaterThanOrEqual(0);
  expect(delayMs).toBeLessThan(1000);
}, 120_000);

/** Waits until the recorded state of a call changes. */
function untilState(stage: Stage, callId: string, state: ToolCallView['state']): Promise<ToolCallView> {
  return eventually(`${callId} to be ${state}`, async () => {
    const call = accepted(stage, 'look', await stage.ledger.call(callId));
    return call.state === state ? call : undefined;
  });
}

describe('the lease of a claim', () => {
  test('that is over leaves the outcome unknown, unless the tool can be repeated: then another worker may', async () => {
    const { stage, stopAndRead } = await install();
    const once = await requestOne(stage);
    const again = await requestOne(stage, { idempotent: true });
    const [claimOnce, claimAgain] = [await claim(stage, once.callId, 300), await claim(stage, again.callId, 300)];
    await untilState(stage, once.callId, 'unknown');
    await untilState(stage, again.callId, 'allowed');
    const refused = await stage.ledger.claim(once.callId, { resolverId: 'second', leaseMs: 1000 });
    expect(refused).toMatchObject({ status: 'refused', code: 'already-settled' });
    const second = await claim(stage, again.callId, 1000);
    expect(second).toMatchObject({ attempt: 2, idempotencyKey: claimAgain.idempotencyKey });
    const entries = await stopAndRead();
    const [unknown] = eventsOf(entries, once.callId, 'ExecutionOutcomeUnknown');
    const [lapsed] = eventsOf(entries, again.callId, 'ExecutionLapsed');
    expect(Date.parse(unknown?.recordedAt ?? '') - Date.parse(claimOnce.leaseUntil)).toBeLessThan(1000);
    expect(Date.parse(lapsed?.recordedAt ?? '') - Date.parse(claimAgain.leaseUntil)).toBeLessThan(1000);
  }, 120_000);

  test('lives on with its renewals, across a kill', async () => {
    const { stage, ledger, server, restart } = await install();
    const call = await requestOne(stage);
    const { attempt, leaseUntil } = await claim(stage, call.callId, 2000);
    accepted(stage, 'renew', await ledger.renew(call.callId, { attempt, leaseMs: 60_000 }));
    await server().stop('SIGKILL');
    await restart();
    await until(leaseUntil);
    const report = await ledger.report(call.callId, { attempt, status: 'succeeded', output: 'done' });
    expect(accepted(stage, 'report', report).state).toBe('succeeded');
  }, 120_000);
});

describe('a worker that wakes up after its lease', () => {
  const lateReport = (stage: Stage, callId: string, attempt: number) =>
    stage.ledger.report(callId, { attempt, status: 'succeeded', output: 'late' });

  /** A claim whose holder was away for longer than its lease. */
  async function overdue(stage: Stage): Promise<{ readonly callId: string; readonly attempt: number }> {
    const { callId } = await requestOne(stage);
    const { attempt } = await claim(stage, callId, 100);
    await untilState(stage, callId, 'unknown');
    return { callId, attempt };
  }

  test('may still report its outcome until another one is recorded', async () => {
    const { stage } = await install();
    const { callId, attempt } = await overdue(stage);
    const call = accepted(stage, 'late report', await lateReport(stage, callId, attempt));
    expect(call).toMatchObject({ state: 'succeeded', output: 'late' });
  }, 120_000);

  test.each(['succeeded', 'failed', 'retry'] as const)(
    'may not once a person has said: %s',
    async (status) => {
      const { stage, ledger } = await install();
      const { callId, attempt } = await overdue(stage);
      accepted(stage, 'reconcile', await ledger.reconcile(callId, { status, note: 'looked it up' }));
      const reply = await lateReport(stage, callId, attempt);
      expect(reply).toMatchObject({ status: 'refused', httpStatus: 409, code: 'stale-claim' });
    },
    120_000,
  );

  test('may not once another one has claimed, whose report counts', async () => {
    const { stage, ledger } = await install();
    const { callId, attempt } = await overdue(stage);
    accepted(stage, 'reconcile', await ledger.reconcile(callId, { status: 'retry', note: 'nothing was moved' }));
    const next = await claim(stage, callId, 10_000);
    expect(next.attempt).toBe(attempt + 1);
    expect(await lateReport(stage, callId, attempt)).toMatchObject({ status: 'refused', code: 'stale-claim' });
    const call = accepted(stage, 'report', await lateReport(stage, callId, next.attempt));
    expect(call.state).toBe('succeeded');
    const again = await ledger.reconcile(callId, { status: 'failed', note: 'too late' });
    expect(again).toMatchObject({ status: 'refused', code: 'not-unknown' });
  }, 120_000);
});
