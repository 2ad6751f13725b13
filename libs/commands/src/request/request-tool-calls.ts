import {
  actionDigest,
  canonicalJson,
  deriveCallId,
  placeLabelsOf,
  toCalledTool,
  toolCallStream,
} from '@countersign/contracts';
import type { RequestToolCalls } from '@countersign/contracts';
import {
  decideStep,
  isDeniedInCode,
  isLateQuestion,
  isSequential,
  mayNotSpeakFor,
  refusedUnread,
  toolCallRules,
} from '@countersign/domain';
import type { RequestToolCall, StepDecision, StepFacts, ToolCall, ToolCallState } from '@countersign/domain';
import { uuidV5 } from '@countersign/runtime';
import { speaksFor } from '../actor.js';
import type { Actor } from '../actor.js';
import { unlessDecided } from '../people/ask.js';
import { endIfInsideCancelled } from '../people/end-inside.js';
import { inBatch, settleRequested } from '../batch.js';
import { checkCalls } from './check-calls.js';
import type { CheckedRequest } from './check-calls.js';
import { gatherStep } from './gather.js';
import type { Gathered } from './gather.js';
import type { CommandMeta, CommandResult } from '../stream/handle-command.js';
import { withShadowVerdict } from './shadow.js';
import type { ShadowVerdicts } from './shadow.js';
import { createUses } from '../grants/take-uses.js';
import { stopsOver } from '../stops/coverage.js';
import { whenStopsKnown } from '../stops/stopped.js';
import { applyRule } from '../stream/with-tool-call.js';
import { askerOf, inTurnOfAsker, inTurnOfBatch, inTurnOfRun } from './quotas.js';
import type { Result } from '../result.js';
import { onRecorded } from './plan-call.js';
import type { Plan } from './plan-call.js';
import type { CommandPorts } from '../ports.js';

/** The calls of one request, in its order. */
export interface RequestedToolCalls {
  readonly callIds: readonly string[];
  /** True if this request recorded any of them. */
  readonly isNew: boolean;
}

/**
 * Records the calls of one model step. All are checked and judged before any is recorded. A duplicate adds nothing,
 * unless it is stricter: then it opens the approval, or cancels a call that the agent's code denies now. The same id from another principal or with other arguments is
 * `tool-call-mismatch`.
 */
export async function requestToolCalls(
  ports: CommandPorts,
  actor: Actor,
  body: RequestToolCalls,
  commandId: string,
): Promise<Result<RequestedToolCalls>> {
  const agentId = body.agentId ?? actor.principal;
  const foreign = mayNotSpeakFor(agentId, { speaksFor: speaksFor(actor, agentId) });
  if (foreign !== undefined) return { status: 'refused', refusal: foreign };
  const checked = await checkCalls(ports, actor.tenant, body);
  const refusal = refusedUnread(checked);
  if (refusal !== undefined) return { status: 'refused', refusal };
  const { tenant } = actor;
  const callIds = body.calls.map((call) => deriveCallId(tenant, body.runId, call.toolCallId));
  const deciding = () => decide(ports, actor, { body, agentId, callIds, checked }, commandId);
  return inTurnOfRun(ports, tenant, body.runId, () =>
    inTurnOfBatch(ports, actor, body, () => inTurnOfAsker(ports, askerOf(actor, agentId), deciding)),
  );
}

/**
 * Gathers, decides, takes the uses of grants, and records. If a use was lost meanwhile, it begins again without it; if another
 * policy came in force, it begins again under that.
 */
async function decide(
  ports: CommandPorts,
  actor: Actor,
  request: CheckedRequest,
  commandId: string,
): Promise<Result<RequestedToolCalls>> {
  const uses = createUses(ports, actor.tenant, commandId);
  const asker = askerOf(actor, request.agentId);
  const versionNow = () => ports.policies.of(actor.tenant).version;
  for (;;) {
    const gathered = await gatherStep(ports, actor, asker, request, uses.isLost);
    // Gathering and judging may have taken long: the stops are read once more then.
    const decision = await whenStopsKnown(ports, actor.tenant, () =>
      decideStep({ ...gathered.facts, stopsOver: stopsOverAll(ports, actor, gathered.plans) }),
    );
    if (decision.status === 'refused') return decision;
    const hasUses = await uses.take(decision.calls);
    if (hasUses && versionNow() === gathered.policyVersion) return record(ports, gathered, decision.calls, commandId);
  }
}

function stopsOverAll({ stops }: CommandPorts, { tenant }: Actor, plans: readonly Plan[]): StepFacts['stopsOver'] {
  const known = stops.known(tenant);
  return plans.map(({ proposal }) => stopsOver(known, proposal));
}

type DecidedCalls = Extract<StepDecision, { readonly status: 'accepted' }>['calls'];

async function record(
  ports: CommandPorts,
  { plans, shadow, seen, writeOnly }: Gathered,
  decided: DecidedCalls,
  commandId: string,
): Promise<Result<RequestedToolCalls>> {
  const work = plans.flatMap((plan, index) => {
    const command = decided[index]?.command;
    if (command === undefined) return [];
    const meta = writeOnly ? { commandId: contentId(commandId, command), writeOnly } : { commandId };
    return [() => recordOne(ports, plan, command, shadow[index], meta)];
  });
  // The order of the log is the order of their turns.
  const isInOrder = decided.some((one) => one !== null && isSequential(one.command.call));
  const handled = isInOrder ? await oneByOne(work) : await allEnded(work.map((begin) => begin()));
  // Also of existing calls: the read model that responds may lag.
  let position = seen;
  let isNew = false;
  for (const one of handled) {
    if (one.status === 'refused') return { status: 'refused', refusal: one.refusal };
    position = Math.max(position, one.position);
    isNew ||= one.events.some(({ type }) => type === 'ToolCallRequested');
  }
  const settled = await settle(ports, plans, handled, position);
  if (settled.status === 'refused') return settled;
  const endedAt = await endIfInsideCancelled(
    ports,
    plans.map(({ proposal }) => proposal),
  );
  position = Math.max(settled.position, endedAt);
  return { status: 'done', position, value: { callIds: plans.map((plan) => plan.callId), isNew } };
}

/**
 * The results of work that runs side by side, like `Promise.all`. A failure is thrown only when all of it has ended: no part of it
 * still records something while the next request counts.
 */
async function allEnded<T>(work: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}

/** The results of work of which each part begins when the one before is done. */
async function oneByOne<T>(work: readonly (() => Promise<T>)[]): Promise<T[]> {
  const results: T[] = [];
  for (const begin of work) results.push(await begin());
  return results;
}

/** Brings the batches of the recorded calls in line, and closes a question that came too late for its batch. */
async function settle(
  ports: CommandPorts,
  plans: readonly Plan[],
  handled: readonly CommandResult<ToolCallState>[],
  recordedAt: number,
): Promise<Result> {
  let position = recordedAt;
  for (const { state } of handled) {
    if (state.status !== 'recorded' || !isLateQuestion(state)) continue;
    const outcome = await unlessDecided(ports, state, position);
    if (outcome.status === 'refused') return outcome;
    position = outcome.position;
  }
  const settledAt = await settleRequested(
    ports,
    plans.map(({ state }) => state),
    handled.map(({ state }) => state),
  );
  return { status: 'done', value: undefined, position: Math.max(position, settledAt) };
}

/**
 * The id of a command that is recorded without a read. Whatever makes a call another one under the same toolCallId gives
 * another command id, so the event store, which compares only ids, distinguishes the two. Attack: the same message once more, for another folder.
 */
function contentId(commandId: string, { call, judgement }: RequestToolCall): string {
  const { needsApproval, idempotent, clientExecuted, requestedBy, onBehalfOf = '', batchId, batchMode, labels } = call;
  const facts = [
    ...[commandId, actionDigest({ ...call, salt: '' }, call.arguments), placeLabelsOf(labels)],
    ...[needsApproval, idempotent, clientExecuted, isDeniedInCode(judgement)],
    ...[requestedBy, onBehalfOf, batchId, batchMode],
  ];
  return uuidV5(contentIds, canonicalJson(facts));
}

const contentIds = '4d0c4f0e-8a53-5d0b-9d67-0a3f5f1c2b9e';

type RecordMeta = Pick<CommandMeta, 'commandId' | 'writeOnly'>;

function recordOne(
  ports: CommandPorts,
  plan: Plan,
  decided: RequestToolCall,
  shadow: ShadowVerdicts[number],
  meta: RecordMeta,
) {
  const { call } = decided;
  const rule = toolCallRules.requestToolCall;
  return ports.handler.handleCommand(
    toolCallStream(plan.callId),
    (state) => {
      if (state.status === 'unrequested') return withShadowVerdict(applyRule(ports, rule, decided, state), shadow);
      // Another process may have recorded it meanwhile.
      const command = { ...decided, call: onRecorded({ ...plan, proposal: call }, state) };
      return repeated(ports, state, command, meta.commandId).then((built) => applyRule(ports, rule, built, state));
    },
    { tenant: call.tenant, callId: plan.callId, runId: call.runId, tool: toCalledTool(call), ...meta },
  );
}

/** A stricter duplicate requests approval of a recorded call, which may come too late for its batch. */
async function repeated(
  ports: CommandPorts,
  call: ToolCall,
  command: RequestToolCall,
  commandId: string,
): Promise<RequestToolCall> {
  const built = await inBatch(ports, call, command, commandId);
  if ('refusal' in built) throw new Error('a request must not begin a batch');
  return built;
}
