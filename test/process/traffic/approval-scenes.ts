import { setTimeout as sleep } from 'node:timers/promises';
import { isDecided, isSettled } from '@countersign/contracts';
import type { RespondBody, ToolCallState, ToolCallView } from '@countersign/contracts';
import { accepted, claim, execute, pendingIdOf, report, requestOne, run, someArguments, someCall } from './scene.js';
import type { Scene, Stage } from './scene.js';

/** Longer than any short deadline and many restarts in a row. */
const patienceMs = 90_000;

/** Reads until the call is decided or settled. A call that never gets there is recorded in the journal. */
export async function waitFor(stage: Stage, callId: string, until: 'decided' | 'settled'): Promise<ToolCallView> {
  const giveUpAt = Date.now() + patienceMs;
  const isThere = (state: ToolCallState): boolean => (until === 'decided' ? isDecided(state) : isSettled(state));
  for (;;) {
    const call = accepted(stage, 'look', await stage.ledger.call(callId, `?waitMs=500&until=${until}`));
    if (isThere(call.state)) return call;
    if (Date.now() > giveUpAt) {
      stage.journal.surprises.push(`${callId} is still ${call.state} after ${patienceMs} ms, waiting until ${until}`);
      return call;
    }
  }
}

/** Responds to the pending approval of a call, for the arguments that were shown. */
export async function respond(
  stage: Stage,
  call: ToolCallView,
  decision: RespondBody['decision'],
  ...expected: readonly string[]
): Promise<void> {
  const body = { decision, reason: 'looked at it', actionDigest: call.actionDigest };
  const reply = await stage.ledger.respond(pendingIdOf(call), body);
  accepted(stage, decision.type, reply, ...expected);
}

const approved: Scene = async (stage) => {
  const call = await requestOne(stage, { needsApproval: true });
  await respond(stage, call, { type: 'approve' });
  await execute(stage, call.callId);
};

const denied: Scene = async (stage) => {
  const call = await requestOne(stage, { needsApproval: true });
  await respond(stage, call, { type: 'deny' });
  // A denied call stays denied for every reader.
  const reply = await stage.ledger.claim(call.callId, { resolverId: stage.name('worker'), leaseMs: 1000 });
  if (reply.status === 'ok') stage.journal.surprises.push(`the denied call ${call.callId} could be claimed`);
};

const edited: Scene = async (stage) => {
  const call = await requestOne(stage, { needsApproval: true });
  const args = someArguments(stage.random);
  await respond(stage, call, { type: 'edit', arguments: args });
  const claimed = await claim(stage, call.callId, 3000);
  if (JSON.stringify(claimed.arguments) !== JSON.stringify(args)) {
    stage.journal.surprises.push(`the claim of ${call.callId} does not carry the edited arguments`);
  }
  run(stage, call.callId, claimed);
  await report(stage, call.callId, claimed);
};

const answered: Scene = async (stage) => {
  const call = await requestOne(stage, { needsApproval: true });
  await respond(stage, call, { type: 'answer', output: { said: stage.name('answer') } });
  const { state } = await waitFor(stage, call.callId, 'settled');
  if (state !== 'succeeded') stage.journal.surprises.push(`the answered call ${call.callId} is ${state}`);
};

/** Two people decide at the same moment: one of them wins, the other learns of it. */
const rivals: Scene = async (stage) => {
  const call = await requestOne(stage, { needsApproval: true });
  const approvalId = pendingIdOf(call);
  const replies = await Promise.all([
    stage.ledger.respond(approvalId, { decision: { type: 'approve' } }),
    stage.ledger.respond(approvalId, { decision: { type: 'deny' } }),
  ]);
  const codes = replies.map((reply) => (reply.status === 'ok' ? 'ok' : reply.code)).sort();
  if (codes.join() !== 'already-resolved,ok') {
    stage.journal.surprises.push(`two answers to ${approvalId} at once came to ${codes.join(' and ')}`);
  }
};

const expired: Scene = async (stage) => {
  const call = await requestOne(stage, { needsApproval: true, expiresInMs: stage.random.int(30, 400) });
  const { state } = await waitFor(stage, call.callId, 'decided');
  if (state !== 'expired') stage.journal.surprises.push(`${call.callId}, which has no answer, is ${state}`);
};

const answeredAtTheDeadline: Scene = async (stage) => {
  const expiresInMs = stage.random.int(40, 150);
  const call = await requestOne(stage, { needsApproval: true, expiresInMs });
  await sleep(stage.random.int(0, expiresInMs));
  await respond(stage, call, { type: 'approve' }, 'expired');
  await execute(stage, call.callId);
};

const askedAgain: Scene = async (stage) => {
  const call = await requestOne(stage, { needsApproval: true, expiresInMs: stage.random.int(20, 100) });
  await waitFor(stage, call.callId, 'decided');
  const approval = accepted(stage, 'ask again', await stage.ledger.ask(call.callId, { reason: 'still needed' }));
  if (approval.round !== 2) stage.journal.surprises.push(`${call.callId} was asked again in round ${approval.round}`);
  accepted(stage, 'approve', await stage.ledger.respond(approval.approvalId, { decision: { type: 'approve' } }));
  await execute(stage, call.callId);
};

/** A worker whose own predicate requires approval for an already allowed call. */
const askedLater: Scene = async (stage) => {
  const call = await requestOne(stage);
  const approval = accepted(stage, 'ask', await stage.ledger.ask(call.callId, {}));
  const decision = stage.random.pick([{ type: 'approve' }, { type: 'deny' }] as const);
  accepted(stage, 'respond', await stage.ledger.respond(approval.approvalId, { decision }));
  if (decision.type === 'approve') await execute(stage, call.callId);
};

const cancelled: Scene = async (stage) => {
  const call = await requestOne(stage, { needsApproval: stage.random.chance(0.7) });
  if (call.approval !== null && stage.random.chance(0.5)) await respond(stage, call, { type: 'approve' });
  accepted(stage, 'cancel', await stage.ledger.cancel(call.callId));
};

const runCancelled: Scene = async (stage) => {
  const runId = stage.name('run');
  const calls = [someCall(stage), someCall(stage, { needsApproval: true }), someCall(stage, { needsApproval: true })];
  accepted(stage, 'request', await stage.ledger.request({ runId, calls }));
  accepted(stage, 'cancel the run', await stage.ledger.cancelRun(runId));
};

/** An agent that lost the response and requests again, and one that reuses an id for another call. */
const repeated: Scene = async (stage) => {
  const body = { runId: stage.name('run'), calls: [someCall(stage)] };
  const first = accepted(stage, 'request', await stage.ledger.request(body));
  const again = accepted(stage, 'request again', await stage.ledger.request(body));
  if (first[0]?.callId !== again[0]?.callId) stage.journal.surprises.push('a repeated request became another call');
  const other = { ...body, calls: body.calls.map((call) => ({ ...call, arguments: { path: '/other' } })) };
  const swapped = await stage.ledger.request(other);
  if (swapped.status === 'ok') stage.journal.surprises.push('other arguments were taken under the same id');
  else if (swapped.code !== 'tool-call-mismatch') stage.journal.surprises.push(`other arguments: ${swapped.code}`);
  if (first[0] !== undefined) await execute(stage, first[0].callId);
};

export const approvalScenes: Readonly<Record<string, Scene>> = {
  approved,
  denied,
  edited,
  answered,
  rivals,
  expired,
  answeredAtTheDeadline,
  askedAgain,
  askedLater,
  cancelled,
  runCancelled,
  repeated,
};
