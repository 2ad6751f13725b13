import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createWriteSide, fireDue } from '@countersign/commands';
import type { CommandPorts } from '@countersign/commands';
import type { ApprovalView, ToolCallView } from '@countersign/contracts';
import { createOwnStoreClock } from '@countersign/event-store';
import { systemClock } from '@countersign/runtime';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

let world: World;
let api: Api;
let commands: CommandPorts;
let nowMs = Date.parse('2026-12-01T10:00:00.000Z');
beforeEach(async () => {
  const clock = { ...systemClock, now: () => nowMs };
  world = await openWorld({
    change: (ports) => {
      const { store, ids, log, commands: given } = ports;
      const timed = { ...store, clock: createOwnStoreClock(clock) };
      commands = createWriteSide({ store: timed, ids, log, tools: given.tools });
      return { ...ports, clock, commands };
    },
  });
  api = createApi(world);
});
afterEach(() => world.close());

type Body = ToolCallView & ApprovalView & { readonly code?: string; readonly calls: readonly ToolCallView[] };

const ask = (callId: string, headers = {}) => api.send<Body>('POST', `/v1/tool-calls/${callId}/approvals`, { headers });

/** The first one is asked about, the second one is allowed and waits for its turn. */
async function requestTwo(): Promise<readonly [string, string]> {
  const call = (toolCallId: string, needsApproval: boolean) => ({
    ...{ toolCallId, toolName: 'move', arguments: { toolCallId }, needsApproval, expiresInMs: 60_000 },
  });
  const body = { runId: 'run', batchMode: 'sequential', calls: [call('a', true), call('b', false)] };
  const { calls } = (await api.send<Body>('POST', '/v1/tool-calls', { body })).body;
  return [calls[0]?.callId ?? '', calls[1]?.callId ?? ''];
}

it('accepts a question that waits for the turn of its call', async () => {
  const [a, b] = await requestTwo();
  const waits = { state: 'pending', waitsForTurn: true, expiresAt: null };

  const key = { 'idempotency-key': 'k-1' };
  expect(await ask(b, key)).toMatchObject({ status: 202, body: { callId: b, round: 1, ...waits } });
  expect(await ask(b)).toMatchObject({ status: 409, body: { code: 'already-pending' } });

  nowMs += 60_000;
  await fireDue(commands, 'default', a);
  // The turn of the other call comes with it.
  expect(await ask(a)).toMatchObject({ status: 202, body: { callId: a, round: 2, ...waits } });
  const other = await api.send<Body>('GET', `/v1/tool-calls/${b}`);
  expect(other.body).toMatchObject({ state: 'awaiting_approval', approval: { state: 'pending' } });
  expect(await ask(b, key)).toMatchObject({ status: 201, body: { state: 'pending' } });
});

it('tells the retry of a question that its call was cancelled before its turn', async () => {
  const [, b] = await requestTwo();
  const key = { 'idempotency-key': 'k-1' };
  await ask(b, key);
  await api.send('POST', `/v1/tool-calls/${b}/cancel`, { body: { reason: 'no more' } });
  expect(await ask(b, key)).toMatchObject({ status: 409, body: { code: 'already-resolved', state: 'cancelled' } });
});
