import { actionDigest, approvalIdOf, deriveCallId, toCalledTool, toolCallStream } from '@countersign/contracts';
import type { RequestToolCalls } from '@countersign/contracts';
import { isLateQuestion, toolCallRules } from '@countersign/domain';
import type { Repeat, RequestToolCall, ToolCall, ToolCallProposal } from '@countersign/domain';
import type { Judgement } from '@countersign/policy';
import { uuidV5 } from '@countersign/runtime';
import { allEnded } from './all-ended.js';
import { speaksFor } from './actor.js';
import type { Actor } from './actor.js';
import { unlessDecided } from './ask-and-cancel.js';
import { inBatch, settleRequested } from './batch.js';
import { joinedByRule } from './batch-by-rule.js';
import { coverWithinQuotas } from './cover-within-quotas.js';
import { checkCalls, together } from './check-calls.js';
import type { CommandMeta } from './handle-command.js';
import { toDomainJudgement } from './judge-recorded.js';
import { judgeInShadow, withShadowVerdict } from './shadow.js';
import type { ShadowVerdicts } from './shadow.js';
import { applyRule } from './with-tool-call.js';
import { askerOf, inTurnOfAsker, inTurnOfRun } from './quotas.js';
import type { Asker } from './quotas.js';
import { withRunFacts } from './run-facts.js';
import type { Refused } from './with-tool-call.js';
import { mayNotSpeakFor, refused } from './result.js';
import type { Result } from './result.js';
import { chainsOf, insideCancelled } from './nesting.js';
import { noApproverLeft } from './no-approver-left.js';
import { onRecorded, planCall, repeatOf } from './plan-call.js';
import type { Plan, Step } from './plan-call.js';
import type { CommandPorts } from './ports.js';

/** The calls of one request, in its order. */
export interface RequestedToolCalls {
  readonly callIds: readonly string[];
  /** True if this request recorded any of them. */
  readonly isNew: boolean;
}

/**
 * Records the calls of one model step. All are checked and judged before any is recorded. A duplicate adds nothing,
 * unless it is stricter: then it opens the approval. The same id from another principal or with other arguments is
 * `tool-call-mismatch`.
 */
export async function requestToolCalls(
  ports: CommandPorts,
  actor: Actor,
  body: RequestToolCalls,
  commandId: string,
): Promise<Result<RequestedToolCalls>> {
  const agentId = body.agentId ?? actor.principal;
  if (!speaksFor(actor, agentId)) return mayNotSpeakFor(agentId);
  const checked = checkCalls(ports, actor.tenant, body);
  const refusal = together(checked.flatMap(({ refusals }) => refusals));
  if (refusal !== undefined) return { status: 'refused', refusal };
  const { tenant } = actor;
  const recording = () => recordChecked(ports, actor, { body, agentId, checked }, commandId);
  return inTurnOfRun(ports, tenant, body.runId, () => inTurnOfAsker(ports, askerOf(actor, agentId), recording));
}

async function recordChecked(
  ports: CommandPorts,
  actor: Actor,
  step: Omit<Step, 'callIds' | 'chains'>,
  commandId: string,
): Promise<Result<RequestedToolCalls>> {
  const { body } = step;
  const callIds = body.calls.map((call) => deriveCallId(actor.tenant, body.runId, call.toolCallId));
  // If one call conflicts with the log, none of them is recorded, so all are read first.
  const nested = await chainsOf(ports, actor.tenant, body, callIds);
  if ('refusal' in nested) return nested;
  const { chains, parents } = nested;
  const writeOnly = isWriteOnly(ports, actor.tenant, parents);
  const loaded = await Promise.all(
    writeOnly ? [] : callIds.map((callId) => ports.handler.load(toolCallStream(callId))),
  );
  const states = loaded.map(({ state }) => state);
  const plans = body.calls.map((call, index) =>
    planCall(ports, actor, { ...step, callIds, chains }, index, call, states),
  );
  const repeats = plans.map((plan, index) => repeatOf(plan, states[index]));
  const conflict = conflictOf(plans, repeats, parents);
  if (conflict !== undefined) return conflict;
  // Also of existing calls: the read model that responds may lag.
  const seen = Math.max(0, ...loaded.map(({ position }) => position));
  const [plan] = plans;
  const meta =
    writeOnly && plan !== undefined ? { commandId: contentId(commandId, plan.proposal), writeOnly } : { commandId };
  const additions = plans.map((_, index) => repeats[index] !== 'equal');
  return record(ports, askerOf(actor, step.agentId), plans, additions, meta, seen);
}

/**
 * Only a single call that runs inside no other can be recorded without a read. A repeat is no new question to people, so
 * under quotas a single one is read as well.
 */
function isWriteOnly(
  { writeOnly, policies }: CommandPorts,
  tenant: string,
  parents: readonly (ToolCall | undefined)[],
): boolean {
  const isSingle = parents.length === 1 && parents[0] === undefined;
  return writeOnly === true && isSingle && policies.of(tenant).quotas === null;
}

/** Why the log does not allow these calls: one is recorded otherwise, or would run inside a call that was cancelled. */
function conflictOf(
  plans: readonly Plan[],
  repeats: readonly (Repeat | 'new')[],
  parents: readonly (ToolCall | undefined)[],
): Refused | undefined {
  const mismatch = repeats.findIndex((repeat) => typeof repeat === 'object');
  if (mismatch !== -1) return refused('tool-call-mismatch', mismatchDetail(plans[mismatch], repeats[mismatch]));
  return repeats
    .map((repeat, index) => (repeat === 'new' ? insideCancelled(parents[index]) : undefined))
    .find((one) => one !== undefined);
}

/**
 * The id of a command that is recorded without a read. Other arguments under the same toolCallId give another command
 * id, so the event store, which compares only ids, distinguishes the two.
 */
function contentId(commandId: string, proposal: ToolCallProposal): string {
  const { needsApproval, idempotent, clientExecuted, onBehalfOf = '' } = proposal;
  const facts = `${[needsApproval, idempotent, clientExecuted].map(Number).join('')}${onBehalfOf}`;
  return uuidV5(contentIds, commandId + actionDigest({ ...proposal, salt: '' }, proposal.arguments) + facts);
}

const contentIds = '4d0c4f0e-8a53-5d0b-9d67-0a3f5f1c2b9e';

function mismatchDetail(plan: Plan | undefined, repeat: Repeat | 'new' | undefined): string {
  const why = typeof repeat === 'object' && repeat.status === 'refused' ? repeat.refusal.detail : '';
  return `tool call "${plan?.proposal.toolCallId ?? ''}" of this run: ${why} Give a new call a new toolCallId.`;
}

type RecordMeta = Pick<CommandMeta, 'commandId' | 'writeOnly'>;

async function record(
  ports: CommandPorts,
  asker: Asker,
  plans: readonly Plan[],
  additions: readonly boolean[],
  meta: RecordMeta,
  seen: number,
): Promise<Result<RequestedToolCalls>> {
  const at = ports.clock.now();
  const { tenant } = asker;
  const policyCalls = withRunFacts(
    ports,
    tenant,
    plans.map((plan) => plan.policyCall),
  );
  const judged = ports.policies.of(tenant).judge(policyCalls, at);
  const shadow = judgeInShadow(ports, tenant, policyCalls, judged, at);
  const joined = joinedByRule(plans, judged);
  if ('refusal' in joined) return joined;
  const judgements = await unlessNobodyIsLeft(ports, joined, judged, { asker, additions, meta, at });
  if ('refusal' in judgements) return judgements;
  const handled = await allEnded(
    joined.flatMap((plan, index) => {
      const judgement = judgements[index];
      if (judgement === undefined || additions[index] !== true) return [];
      return [recordOne(ports, plan, { judgement, shadow: shadow[index] }, meta, at)];
    }),
  );
  let position = seen;
  let isNew = false;
  for (const one of handled) {
    if (one.status === 'refused') return { status: 'refused', refusal: one.refusal };
    position = Math.max(position, one.position);
    isNew ||= one.events.some(({ type }) => type === 'ToolCallRequested');
  }
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
  return {
    status: 'done',
    value: { callIds: plans.map((plan) => plan.callId), isNew },
    position: Math.max(position, settledAt),
  };
}

/** The judgements with the cover of grants, unless a call leaves no approver: then no use of a grant is taken. */
async function unlessNobodyIsLeft(
  ...[ports, plans, judged, more]: Parameters<typeof coverWithinQuotas>
): Promise<Awaited<ReturnType<typeof coverWithinQuotas>>> {
  return noApproverLeft(ports, plans, judged) ?? coverWithinQuotas(ports, plans, judged, more);
}

interface Judged {
  readonly judgement: Judgement;
  readonly shadow: ShadowVerdicts[number];
}

function recordOne(ports: CommandPorts, plan: Plan, { judgement, shadow }: Judged, meta: RecordMeta, at: number) {
  const { proposal } = plan;
  return ports.handler.handleCommand(
    toolCallStream(plan.callId),
    (state) => {
      const command: RequestToolCall = {
        type: 'RequestToolCall',
        at,
        call: state.status === 'recorded' ? onRecorded(plan, state) : proposal,
        judgement: toDomainJudgement(judgement),
        approvalId: approvalIdOf(plan.callId, 1),
      };
      const rule = toolCallRules.requestToolCall;
      if (state.status === 'unrequested') return withShadowVerdict(applyRule(ports, rule, command, state), shadow);
      return repeated(ports, state, command, meta.commandId).then((built) => applyRule(ports, rule, built, state));
    },
    { tenant: proposal.tenant, callId: plan.callId, runId: proposal.runId, tool: toCalledTool(proposal), ...meta },
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
