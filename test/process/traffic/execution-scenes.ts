import { respond, waitFor } from './approval-scenes.js';
import { accepted, claim, execute, report, requestOne, run } from './scene.js';
import type { Scene } from './scene.js';
import { httpToolAgain, httpToolOnce, moduleTool, moduleToolWithoutApproval } from './tools.js';

const allowed: Scene = async (stage) => {
  const call = await requestOne(stage);
  await execute(stage, call.callId);
};

const renewed: Scene = async (stage) => {
  const call = await requestOne(stage);
  const claimed = await claim(stage, call.callId, 3000);
  run(stage, call.callId, claimed);
  const { attempt } = claimed;
  const reply = await stage.ledger.renew(call.callId, { attempt, leaseMs: 5000 });
  const isOver = Date.now() >= Date.parse(claimed.leaseUntil);
  const { leaseUntil } = accepted(stage, 'renew', reply, ...(isOver ? ['stale-claim'] : []));
  await report(stage, call.callId, { ...claimed, leaseUntil });
};

/** Two workers want the same call: one gets it. */
const rivalWorkers: Scene = async (stage) => {
  const call = await requestOne(stage);
  const replies = await Promise.all(
    ['left', 'right'].map((side) => stage.ledger.claim(call.callId, { resolverId: stage.name(side), leaseMs: 4000 })),
  );
  for (const reply of replies) {
    if (reply.status === 'ok') {
      run(stage, call.callId, reply.value);
      await report(stage, call.callId, reply.value);
    }
  }
  const winners = replies.filter(({ status }) => status === 'ok').length;
  const isOver = replies.some((reply) => reply.status === 'refused' && reply.code === 'already-settled');
  if (winners > 1 || (winners === 0 && !isOver)) {
    stage.journal.surprises.push(`${winners} of two workers got the claim of ${call.callId}`);
  }
};

/** A worker that crashes with its claim, before or after the tool ran. */
const deadWorker: Scene = async (stage) => {
  const call = await requestOne(stage, { idempotent: stage.random.chance(0.5) });
  const claimed = await claim(stage, call.callId, stage.random.int(150, 600));
  if (stage.random.chance(0.5)) run(stage, call.callId, claimed);
};

/** A worker that was suspended for longer than its lease, and then reports. */
const lateWorker: Scene = async (stage) => {
  const call = await requestOne(stage, { needsApproval: true });
  await respond(stage, call, { type: 'approve' });
  const claimed = await claim(stage, call.callId, stage.random.int(100, 250));
  run(stage, call.callId, claimed);
  const { state } = await waitFor(stage, call.callId, 'settled');
  if (state !== 'unknown') stage.journal.surprises.push(`${call.callId}, whose lease is over, is ${state}`);
  await report(stage, call.callId, claimed);
};

/** The same with an idempotent tool: another worker runs it meanwhile, and the first one is refused. */
const overtakenWorker: Scene = async (stage) => {
  const call = await requestOne(stage, { idempotent: true });
  const first = await claim(stage, call.callId, stage.random.int(100, 200));
  for (;;) {
    const { state } = accepted(stage, 'look', await stage.ledger.call(call.callId, '?waitMs=50&until=settled'));
    if (state === 'allowed') break;
  }
  await execute(stage, call.callId);
  const reply = await stage.ledger.report(call.callId, { attempt: first.attempt, status: 'succeeded', output: 'late' });
  if (reply.status === 'ok' || reply.code !== 'stale-claim') {
    stage.journal.surprises.push(`the late report of an overtaken worker of ${call.callId} was not refused as stale`);
  }
};

const clientExecuted: Scene = async (stage) => {
  const call = await requestOne(stage, { clientExecuted: true, needsApproval: stage.random.chance(0.5) });
  if (call.approval !== null) await respond(stage, call, { type: 'approve' });
  const reply = await stage.ledger.submit(
    call.callId,
    stage.random.chance(0.7) ? { status: 'succeeded', output: [1, 'two'] } : { status: 'failed', error: 'no' },
  );
  accepted(stage, 'submit', reply);
};

const byModule: Scene = async (stage) => {
  const call = await requestOne(stage, { toolName: moduleTool });
  await respond(stage, call, { type: 'approve' });
  // Does not wait until it is settled: after a kill, the resolver's lease must run out first.
  await stage.ledger.call(call.callId, '?waitMs=300&until=settled');
};

const byTool =
  (toolName: string): Scene =>
  async (stage) => {
    const call = await requestOne(stage, { toolName });
    await stage.ledger.call(call.callId, '?waitMs=300&until=settled');
  };

/** Other workers must not claim a call that the service executes. */
const forbiddenWorker: Scene = async (stage) => {
  const call = await requestOne(stage, { toolName: moduleTool });
  const reply = await stage.ledger.claim(call.callId, { resolverId: 'thief', leaseMs: 1000 });
  if (reply.status === 'ok') stage.journal.surprises.push(`a worker got the service's own call ${call.callId}`);
  await respond(stage, call, { type: 'deny' });
};

export const executionScenes: Readonly<Record<string, Scene>> = {
  allowed,
  renewed,
  rivalWorkers,
  deadWorker,
  lateWorker,
  overtakenWorker,
  clientExecuted,
  byModule,
  byModuleFreely: byTool(moduleToolWithoutApproval),
  byHttpOnce: byTool(httpToolOnce),
  byHttpAgain: byTool(httpToolAgain),
  forbiddenWorker,
};
