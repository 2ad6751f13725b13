import type { RequestToolCalls, ToolCallView } from '@countersign/contracts';
import { respond, waitFor } from './approval-scenes.js';
import { accepted, execute, pendingIdOf, someCall } from './scene.js';
import type { Scene, Stage } from './scene.js';

type Mode = NonNullable<RequestToolCalls['batchMode']>;

/** A step of two to four calls, all of which ask; those with a short deadline ask not for long. */
async function requestBatch(stage: Stage, batchMode: Mode, expiresInMs?: number): Promise<readonly ToolCallView[]> {
  const calls = Array.from({ length: stage.random.int(2, 4) }, (_, index) =>
    someCall(stage, {
      needsApproval: true,
      ...(index === 0 && expiresInMs !== undefined ? { expiresInMs } : {}),
    }),
  );
  const body = { runId: stage.name('run'), batchId: stage.name('step'), batchMode, calls };
  return accepted(stage, 'request a batch', await stage.ledger.request(body));
}

async function approveAll(stage: Stage, calls: readonly ToolCallView[]): Promise<void> {
  const results = accepted(
    stage,
    'approve in bulk',
    await stage.ledger.respondInBulk({
      approvalIds: calls.map(pendingIdOf),
      decision: { type: 'approve' },
      mode: stage.random.pick(['independent', 'all-or-nothing']),
    }),
  );
  const rejected = results.filter(({ status }) => status !== 'done');
  if (rejected.length > 0) stage.journal.surprises.push(`a bulk answer: ${JSON.stringify(rejected)}`);
}

/** No member of an all-or-nothing batch runs before the last approval; then all do. */
const allApproved: Scene = async (stage) => {
  const calls = await requestBatch(stage, 'all-or-nothing');
  const [first, ...others] = calls;
  if (first === undefined) return;
  await respond(stage, first, { type: 'approve' });
  const early = await stage.ledger.claim(first.callId, { resolverId: 'early', leaseMs: 1000 });
  if (early.status === 'ok' || early.code !== 'batch-incomplete') {
    stage.journal.surprises.push(`${first.callId} could be claimed although its batch is incomplete`);
  }
  await approveAll(stage, others);
  await Promise.all(calls.map((call) => execute(stage, call.callId)));
};

/** One member ends without running: its siblings, approved or not, end with it. */
const oneEnds =
  (end: (stage: Stage, call: ToolCallView) => Promise<void>, expiresInMs?: number): Scene =>
  async (stage) => {
    const [first, ...others] = await requestBatch(stage, 'all-or-nothing', expiresInMs);
    if (first === undefined) return;
    if (others[0] !== undefined && stage.random.chance(0.5)) {
      await respond(stage, others[0], { type: 'approve' }, 'already-resolved');
    }
    await end(stage, first);
    for (const { callId } of others) {
      const { state } = await waitFor(stage, callId, 'settled');
      if (state !== 'cancelled') stage.journal.surprises.push(`${callId} is ${state} in a batch that cannot complete`);
    }
  };

const oneDenied = oneEnds((stage, call) => respond(stage, call, { type: 'deny' }));

const oneCancelled = oneEnds(async (stage, call) => {
  accepted(stage, 'cancel', await stage.ledger.cancel(call.callId));
});

const oneExpires = oneEnds(async (stage, call) => void (await waitFor(stage, call.callId, 'decided')), 120);

/** Independent calls of a step: each has its own result. */
const independent: Scene = async (stage) => {
  const calls = await requestBatch(stage, 'independent');
  for (const [index, call] of calls.entries()) {
    if (index % 2 === 1) {
      await respond(stage, call, { type: 'deny' });
    } else {
      await respond(stage, call, { type: 'approve' });
      await execute(stage, call.callId);
    }
  }
};

const inBulk: Scene = async (stage) => {
  const calls = await requestBatch(stage, 'independent');
  await approveAll(stage, calls);
  await Promise.all(calls.map((call) => execute(stage, call.callId)));
};

export const batchScenes: Readonly<Record<string, Scene>> = {
  allApproved,
  oneDenied,
  oneCancelled,
  oneExpires,
  independent,
  inBulk,
};
