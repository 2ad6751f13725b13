import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createWriteSide } from '@countersign/commands';
import { cancelToolCall, claim, findCall, requestToolCalls } from '@countersign/commands';
import type { Actor, CommandPorts } from '@countersign/commands';
import { callState } from '@countersign/domain';
import { connectOf, openEventStoreDb } from '@countersign/event-store/eventstoredb';
import { createSystemIds, sleep, systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { startTestServer } from '../../eventstoredb-server/server.ts';

const [clock, ids, log] = [systemClock, createSystemIds(), createSilentLog()];
const actor: Actor = {
  tenant: 'default',
  principal: 'agent',
  roles: new Set(['agent', 'resolver']),
  groups: [],
  agentIds: ['*'],
  via: 'api',
  assurance: 'medium',
};

let server: Awaited<ReturnType<typeof startTestServer>>;
let stores: ReturnType<typeof openEventStoreDb>[];
let processes: CommandPorts[];

beforeAll(async () => {
  server = await startTestServer();
  const connect = await connectOf(server.url);
  stores = [1, 2].map(() => openEventStoreDb({ url: server.url, connect, log, clock }));
  for (const store of stores) while (store.health().status !== 'ok') await sleep(clock, 10);
  processes = stores.map((store) => createWriteSide({ store, tools: { find: () => undefined }, ids, log }));
});

afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()));
  server.stop();
});

it('two processes on one EventStoreDB never claim one member of a batch and cancel another', async () => {
  const [one, two] = processes;
  if (one === undefined || two === undefined) throw new Error('two processes are open');
  const seen = new Set<string>();
  for (let n = 0; n < 40; n += 1) {
    const calls = ['a', 'b'].map((toolCallId) => ({ toolCallId, toolName: 'get_file', arguments: {} }));
    const body = { runId: `run-${String(n)}`, batchMode: 'all-or-nothing' as const, calls };
    const requested = await requestToolCalls(one, actor, body, ids.uuid());
    if (requested.status !== 'done') throw new Error(requested.refusal.detail);
    const [a = '', b = ''] = requested.value.callIds;
    const [claimer, canceller] = n % 2 === 0 ? [one, two] : [two, one];
    const [claimed, cancelled] = await Promise.all([
      claim(claimer, actor, a, { resolverId: 'w' }, ids.uuid()),
      cancelToolCall(canceller, actor, b, 'not needed', ids.uuid()),
    ]);
    const states = await Promise.all(
      [a, b].map(async (id) => callState((await findCall(one, 'default', id)) ?? never())),
    );
    const codes = [claimed, cancelled].map((outcome) => (outcome.status === 'done' ? 'done' : outcome.refusal.code));
    const told = [...codes, ...states].join(' ');
    expect(told).toMatch(
      /^(done batch-begun executing allowed|(batch-incomplete|not-approved) done cancelled cancelled)$/,
    );
    seen.add(told);
  }
  expect(seen.size).toBeGreaterThan(0);
});

function never(): never {
  throw new Error('the call is not recorded');
}
