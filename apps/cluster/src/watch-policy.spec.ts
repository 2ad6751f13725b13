import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { recordPolicy } from '@countersign/commands';
import { openEmbeddedEventStore } from '@countersign/event-store';
import { createLivePolicies, loadPolicy } from '@countersign/policy';
import { createCollectingLog, createVirtualClock } from '@countersign/runtime/testing';
import type { ReadinessCheck } from '@countersign/shell';
import { watchPolicy } from './watch-policy.js';

const policyOf = (id: string) =>
  loadPolicy(
    'p.yaml',
    `version: 1
approvers: [{ id: ${id} }]`,
    null,
  );

it('tells that the policy of the process is not the one in force, and when it is again', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-watch-policy-'));
  const [clock, log, stopping] = [createVirtualClock(), createCollectingLog(), new AbortController()];
  const store = await openEmbeddedEventStore({ folder, clock, log });
  const checks: ReadinessCheck[] = [];
  const policies = createLivePolicies(policyOf('alice'));
  let differs: number | undefined;
  const looked = async (change: () => unknown): Promise<unknown> => {
    await change();
    await clock.advanceAsync(30_000);
    // The store answers in turns of its own.
    await new Promise((resolve) => setTimeout(resolve, 50));
    return checks[0]?.check();
  };
  await recordPolicy(store, policyOf('alice'), new Date(0).toISOString());
  const world = { clock, log, stopping: stopping.signal, check: (one: ReadinessCheck) => checks.push(one) };
  const watching = watchPolicy(world, store, { policies }, 'default', (now) => {
    differs = now;
  });
  expect([await looked(() => undefined), differs]).toEqual([{ status: 'ok' }, 0]);
  const noted = await looked(() => recordPolicy(store, policyOf('bob'), new Date(0).toISOString()));
  expect(noted).toMatchObject({ status: 'ok', note: expect.stringContaining('give it the COUNTERSIGN_POLICY') });
  expect(differs).toBe(1);
  expect([await looked(() => policies.activate(policyOf('bob'))), differs]).toEqual([{ status: 'ok' }, 0]);
  stopping.abort();
  await watching.catch(() => undefined);
  await store.close();
  rmSync(folder, { recursive: true });
});
