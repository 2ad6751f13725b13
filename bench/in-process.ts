import { claim, reportExecution, requestToolCalls, respond } from '@countersign/commands';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStores, readStandaloneConfig } from '@countersign/standalone';
import { toToolCallView } from '@countersign/read-model';
import { createLog, createSystemIds, systemClock } from '@countersign/runtime';
import { closedLoop, median } from './closed-loop.ts';
import { openFloor, stepNames } from './floor.ts';
import type { StepName } from './floor.ts';

const requested = (id: string) => ({
  runId: `run-${id}`,
  calls: [
    {
      toolCallId: id,
      toolName: 'delete_file',
      arguments: { path: `/srv/data/${id}.txt`, recursive: false, note: 'left over from the import of last week' },
      needsApproval: true,
      reason: 'outside the workspace',
    },
  ],
});

const bodies = {
  answered: '{"decision":{"type":"approve"},"reason":"seen with ops"}',
  claimed: '{"resolverId":"bench"}',
  outcome: '{"attempt":1,"status":"succeeded","output":{"deleted":true}}',
};

/** The body of a step of one call. */
export const bodyOf = (step: StepName, id: string): string =>
  step === 'requested' ? JSON.stringify(requested(id)) : bodies[step];

const person = { groups: [], agentIds: [], via: 'api', assurance: 'medium', tenant: 'default' } as const;
const agent = { ...person, principal: 'agent', roles: new Set(['agent'] as const) };
const me = { ...person, principal: 'me', roles: new Set(['approver'] as const) };
const worker = { ...person, principal: 'worker', roles: new Set(['resolver'] as const) };

type Cycle = (slot: number, n: number) => Promise<void>;

async function productCycle(): Promise<{ cycle: Cycle; close: () => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
  const config = readStandaloneConfig({ COUNTERSIGN_DATA: folder, COUNTERSIGN_LOG_LEVEL: 'warn' });
  const ids = createSystemIds();
  const stores = await openStores(config, { clock: systemClock, ids, log: createLog({ level: 'warn' }) });
  const { commands, readModel } = stores;
  const done = async (outcome: { status: string; position?: number }): Promise<void> => {
    if (outcome.status !== 'done') throw new Error(JSON.stringify(outcome));
    await readModel.reached(outcome.position ?? 0);
  };
  const cycle: Cycle = async (_, n) => {
    const asked = await requestToolCalls(commands, agent, requested(String(n)), ids.uuid());
    if (asked.status !== 'done') throw new Error(JSON.stringify(asked));
    await readModel.reached(asked.position);
    const callId = asked.value.callIds[0] ?? '';
    const row = readModel.toolCall('default', callId);
    if (row === undefined || toToolCallView(row, 'masked').state !== 'awaiting_approval')
      throw new Error('not pending');
    const approvalId = `apr_${callId.slice(3)}_1`;
    await done(
      await respond(commands, me, approvalId, { decision: { type: 'approve' }, reason: 'seen with ops' }, ids.uuid()),
    );
    await done(await claim(commands, worker, callId, { resolverId: 'bench' }, ids.uuid()));
    const outcome = { attempt: 1, status: 'succeeded', output: { deleted: true } } as const;
    await done(await reportExecution(commands, worker, callId, outcome, ids.uuid()));
  };
  return { cycle, close: () => stores.close() };
}

function floorCycle(): { cycle: Cycle; close: () => Promise<void> } {
  const floor = openFloor(mkdtempSync(join(tmpdir(), 'countersign-floor-')));
  return {
    cycle: async (_, n) => {
      for (const step of stepNames) await floor.step(step, bodyOf(step, String(n)));
    },
    close: () => {
      floor.close();
      return Promise.resolve();
    },
  };
}

/** Cycles per second without HTTP, product and floor in turn. */
export async function comparedInProcess(load: {
  readonly inFlight: number;
  readonly seconds: number;
  readonly rounds: number;
}): Promise<{ readonly product: number; readonly floor: number }> {
  const product = await productCycle();
  const floor = floorCycle();
  const rates: { product: number; floor: number }[] = [];
  let offset = 0;
  for (let round = 0; round < load.rounds; round += 1) {
    const start = offset;
    const first = await closedLoop(load.inFlight, load.seconds, (slot, n) => product.cycle(slot, start + n));
    const second = await closedLoop(load.inFlight, load.seconds, (slot, n) => floor.cycle(slot, start + n));
    offset += first.cycles + second.cycles + load.inFlight;
    rates.push({ product: first.cycles / first.seconds, floor: second.cycles / second.seconds });
  }
  await product.close();
  await floor.close();
  return { product: median(rates.map((one) => one.product)), floor: median(rates.map((one) => one.floor)) };
}
