import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { observeDecisions } from './decision-metrics.js';
import { createApi } from './testing/api.js';
import type { Api } from './testing/api.js';
import { openWorld } from './testing/world.js';
import type { World } from './testing/world.js';

let world: World;
let api: Api;
let ahead = 0;
beforeAll(async () => {
  const clock = {
    now: () => Date.now() + ahead,
    monotonic: () => performance.now(),
    setTimer: (delayMs: number, fn: () => void) => {
      const timer = setTimeout(fn, delayMs);
      return () => clearTimeout(timer);
    },
  };
  world = await openWorld({ clock });
  api = createApi(world);
});
afterAll(() => world.close());

const lines = async (): Promise<readonly string[]> => (await world.ports.metrics.registry.metrics()).split('\n');
const respond = async (approvalId: string, type: string): Promise<void> => {
  await api.send('POST', `/v1/approvals/${approvalId}/responses`, { as: 'ann', body: { decision: { type } } });
};

it('counts decisions by their type and time, fast approvals, what happens to approvals, and those that wait long', async () => {
  await api.pending({ toolName: 'old' });
  const quick = await api.pending();
  await respond(quick.approvalId, 'approve');
  const slow = await api.pending({ expiresInMs: 86_400_000 });
  ahead = 20 * 60_000;
  await respond(slow.approvalId, 'approve');
  const denied = await api.pending();
  await respond(denied.approvalId, 'deny');
  const shown = await lines();
  expect(shown).toEqual(
    expect.arrayContaining([
      'countersign_decision_seconds_count{decision="approve"} 2',
      'countersign_decision_seconds_bucket{le="1",decision="approve"} 1',
      'countersign_decision_seconds_bucket{le="900",decision="approve"} 1',
      'countersign_decision_seconds_bucket{le="3600",decision="approve"} 2',
      'countersign_decision_seconds_count{decision="deny"} 1',
      'countersign_fast_approvals_total 1',
      'countersign_approval_events_total{event="requested"} 4',
      'countersign_pending_approvals_older{than="10m"} 1',
      'countersign_pending_approvals_older{than="1h"} 0',
    ]),
  );
  // Attack: agents choose the names of tools, so no label may have them.
  expect(shown.filter((line) => /^countersign_.*"(delete_file|old|ann)"/.test(line))).toEqual([]);
});

it('lack the figure by age, and nothing else, while the read model cannot be read', async () => {
  const registry = new Registry();
  const { readModel, clock } = world.ports;
  const pendingSince = () => {
    throw new Error('the file cannot be read');
  };
  observeDecisions(registry, { readModel: { ...readModel, pendingSince }, clock });
  const shown = await registry.metrics();
  expect(shown).toContain('countersign_fast_approvals_total 0');
  expect(shown).not.toMatch(/^countersign_pending_approvals_older\{/m);
});
