import type { ClaimView, JsonObject, RequestedCall, ToolCallView } from '@countersign/contracts';
import type { Random } from '../harness/random.js';
import { digestOf } from '../audit/digest.js';
import type { Journal } from './journal.js';
import type { Ledger, Reply } from './ledger.js';

/** The context of a scene. */
export interface Stage {
  readonly ledger: Ledger;
  readonly journal: Journal;
  readonly random: Random;
  /** A name that was never given before. */
  readonly name: (prefix: string) => string;
}

/** Something that users do with the ledger, from the request to the end or to where they leave it. */
export type Scene = (stage: Stage) => Promise<void>;

/** The scene cannot go on, for a reason that is in the journal or was to be expected. */
export class SceneOver extends Error {
  override readonly name = 'SceneOver';
}

/** The value of a reply. A refusal ends the scene, and is recorded in the journal unless its code was expected. */
export function accepted<T>(stage: Stage, what: string, reply: Reply<T>, ...expected: readonly string[]): T {
  if (reply.status === 'ok') return reply.value;
  if (!expected.includes(reply.code)) {
    stage.journal.surprises.push(`${what}: ${reply.httpStatus} ${reply.code}: ${reply.detail}`);
  }
  throw new SceneOver(`${what}: ${reply.code}`);
}

/** Arguments whose canonical form is not their JSON text. */
export function someArguments(random: Random): JsonObject {
  const words = ['/etc/hosts', 'grüße', 'naïve ☃', '𝒳-ray', 'line\nbreak', '"quoted"'];
  return {
    path: `/${random.pick(words)}/${random.int(0, 9999)}`,
    amount: random.pick([0, -0.5, 1e21, 0.1, 100, 1.5e-7]),
    ключ: random.pick([null, true, false]),
    deep: { list: [random.int(0, 9), { z: 1, a: random.pick(words) }], empty: {} },
  };
}

/** A call that workers execute. */
export function someCall(stage: Stage, more: Partial<RequestedCall> = {}): RequestedCall {
  return {
    toolCallId: stage.name('call'),
    toolName: 'move_file',
    arguments: someArguments(stage.random),
    ...more,
  };
}

/** Requests one call in its own run. */
export async function requestOne(stage: Stage, more: Partial<RequestedCall> = {}): Promise<ToolCallView> {
  const reply = await stage.ledger.request({ runId: stage.name('run'), calls: [someCall(stage, more)] });
  const [call] = accepted(stage, 'request', reply);
  if (call === undefined) throw new Error('a request was answered without its call');
  return call;
}

/** The id of a call's pending approval. */
export function pendingIdOf(call: ToolCallView): string {
  // A short deadline may have passed before the response arrives.
  if (call.approval === null) throw new SceneOver(`${call.callId} has no approval`);
  return call.approval.approvalId;
}

/** The possible codes of a claim or a report after the end of a lease from before a kill. */
const afterLease = ['already-settled', 'already-claimed', 'stale-claim'];

/** Claims. A refusal is expected only after so much time that the claim may have expired. */
export async function claim(
  stage: Stage,
  callId: string,
  leaseMs: number,
  ...expected: readonly string[]
): Promise<ClaimView> {
  const startedAt = Date.now();
  const reply = await stage.ledger.claim(callId, { resolverId: stage.name('worker'), leaseMs });
  return accepted(stage, 'claim', reply, ...(Date.now() - startedAt >= leaseMs ? afterLease : []), ...expected);
}

/** Runs the tool as a careful worker does: over the arguments whose digest it has recomputed. */
export function run(stage: Stage, callId: string, { attempt, idempotencyKey, ...claimed }: ClaimView): void {
  const { arguments: args, digestInput, actionDigest } = claimed;
  if (digestOf(digestInput, args) !== actionDigest) {
    stage.journal.surprises.push(`the claim ${attempt} of ${callId} has arguments of another digest`);
    throw new SceneOver('not executed');
  }
  stage.journal.executions.push({ by: 'worker', callId, attempt, arguments: args, idempotencyKey, atMs: Date.now() });
}

/** Reports how the claimed execution ended. */
export async function report(stage: Stage, callId: string, { attempt, leaseUntil }: ClaimView): Promise<void> {
  const reply = await stage.ledger.report(
    callId,
    stage.random.chance(0.8)
      ? { attempt, status: 'succeeded', output: { done: attempt, of: stage.name('output') } }
      : { attempt, status: 'failed', error: { message: 'no space left' } },
  );
  accepted(stage, 'report', reply, ...(Date.now() >= Date.parse(leaseUntil) ? afterLease : []));
}

/** Claims, runs and reports. */
export async function execute(stage: Stage, callId: string, ...expected: readonly string[]): Promise<void> {
  const claimed = await claim(stage, callId, 3000, ...expected);
  run(stage, callId, claimed);
  await report(stage, callId, claimed);
}
