import { isDecided, isSettled, limits } from '@countersign/contracts';
import type { ApprovalView, RequestApprovalBody, RequestToolCalls, ToolCallView } from '@countersign/contracts';
import {
  cancelRun,
  cancelToolCall,
  isFrontEnd,
  noSuchCall,
  requestApproval,
  requestToolCalls,
} from '@countersign/commands';
import type { Actor, OpenCalls, Result } from '@countersign/commands';
import { queuedIn } from '@countersign/domain';
import { toApprovalView, waitingApproval } from '@countersign/read-model';
import type { CallRow } from '@countersign/read-model';
import { ok, refused } from './answer.js';
import type { Answer } from './answer.js';
import { conclude, shownMsMax } from './conclude.js';
import type { WriteContext } from './conclude.js';
import { keyKeptMs } from './idempotency.js';
import type { GatewayPorts } from './ports.js';
import { withTurnNow } from './turn-now.js';
import { viewsFor } from './views-for.js';
import { maySee, visibilityFor, whenShown } from './visibility.js';
import type { ShownValues } from './visibility.js';
import type { OnClose, Waiters } from './waiters.js';

/** How long a reader waits, and for which change. */
export interface Waiting {
  readonly waitMs?: number | undefined;
  readonly until?: 'decided' | 'settled' | undefined;
  readonly values?: ShownValues | undefined;
}

/** Attack: reading a run of many large calls at once. Their views are up to three times as large as their rows. */
const runBytesMax = 8 * 1024 * 1024;

/** The calls of agents: request, read, ask, cancel. */
export interface ToolCalls {
  readonly request: (context: WriteContext, body: RequestToolCalls) => Promise<Answer>;
  /** `onClose` registers a callback for when the reader disconnects, and returns a function that removes it. */
  readonly get: (actor: Actor, callId: string, waiting: Waiting, onClose: OnClose) => Answer | Promise<Answer>;
  readonly requestApproval: (context: WriteContext, callId: string, body: RequestApprovalBody) => Promise<Answer>;
  readonly cancel: (context: WriteContext, callId: string, reason: string) => Promise<Answer>;
  readonly getRun: (actor: Actor, runId: string, values?: ShownValues) => Answer;
  readonly cancelRun: (context: WriteContext, runId: string, reason: string) => Promise<Answer>;
}

/** The tool-call side of the gateway. */
export function createToolCalls(ports: GatewayPorts, waiters: Waiters): ToolCalls {
  const { commands, readModel } = ports;
  return {
    request: async ({ actor, commandId }, body) => {
      const requested = await requestToolCalls(commands, actor, body, commandId);
      const callId = requested.status === 'done' ? requested.value.callIds[0] : undefined;
      const outcome = await withTurnNow(ports, actor.tenant, requested, callId);
      return conclude(
        ports,
        'RequestToolCall',
        outcome,
        ({ callIds }) => ({ calls: callViews(ports, actor, callIds).map((call) => markRepeated(call, body)) }),
        ({ isNew }) => (isNew ? 201 : 200),
      );
    },
    get: (actor, callId, waiting, onClose) => {
      const call = readModel.toolCall(actor.tenant, callId);
      if (call === undefined || !maySee(actor, call)) return refused(noSuchCall(callId).refusal);
      if (waiting.waitMs === undefined || hasReached(call, waiting))
        return ok(viewsFor(ports, actor, waiting.values).call(call));
      return wait(ports, waiters, actor, callId, waiting, onClose);
    },
    requestApproval: async ({ actor, commandId }, callId, body) => {
      const asked = await requestApproval(commands, actor, callId, body, commandId);
      const outcome = unlessEnded(ports, actor, callId, await withTurnNow(ports, actor.tenant, asked, callId));
      return conclude(
        ports,
        'RequestApproval',
        outcome,
        () => currentApprovalView(ports, actor, callId),
        () => (queuedIn(writtenCall(ports, actor, callId)) === undefined ? 201 : 202),
      );
    },
    cancel: async ({ actor, commandId }, callId, reason) => {
      const outcome = await cancelToolCall(commands, actor, callId, reason, commandId);
      return conclude(ports, 'CancelToolCall', outcome, () => callView(ports, actor, callId));
    },
    getRun: (actor, runId, values) => {
      if (isFrontEnd(actor)) return getOwnRun(ports, actor, runId, values);
      const bytes = readModel.runBytes(actor.tenant, runId);
      if (bytes === 0) return noSuchRun(runId);
      if (bytes > runBytesMax) return runTooLarge(runId);
      const calls = readModel.run(actor.tenant, runId);
      if (calls.length === 0) return noSuchRun(runId);
      return ok(viewsFor(ports, actor, values).run(runId, calls));
    },
    cancelRun: (context, runId, reason) => cancelOpenCalls(ports, context, runId, reason),
  };
}

/** Calls that were just written, as the actor may see them. */
function callViews(ports: GatewayPorts, actor: Actor, callIds: readonly string[]): ToolCallView[] {
  const views = viewsFor(ports, actor);
  return callIds.map((callId) => views.call(writtenCall(ports, actor, callId)));
}

/** A call that had ended before this request named it, from another batch than the first one. */
function markRepeated(call: ToolCallView, { batchId }: RequestToolCalls): ToolCallView {
  return isSettled(call.state) && call.batchId !== (batchId ?? null) ? { ...call, repeated: true } : call;
}

function writtenCall({ readModel }: GatewayPorts, actor: Actor, callId: string): CallRow {
  const call = readModel.toolCall(actor.tenant, callId);
  if (call === undefined) throw new Error(`the read model has reached a write of ${callId} but does not know the call`);
  return call;
}

/** A call that was just written, as the actor may see it. */
export function callView(ports: GatewayPorts, actor: Actor, callId: string, values?: ShownValues): ToolCallView {
  return viewsFor(ports, actor, values).call(writtenCall(ports, actor, callId));
}

/** The retry of a question may find that its call ended before its turn: there is no approval. */
function unlessEnded(ports: GatewayPorts, actor: Actor, callId: string, asked: Result): Result {
  const call = ports.readModel.toolCall(actor.tenant, callId);
  if (asked.status === 'refused' || call === undefined) return asked;
  if (call.approvals.length > 0 || queuedIn(call) !== undefined || !isDecided(call.state)) return asked;
  const detail = `The tool call is ${call.state}: it ended before its turn.`;
  return { status: 'refused', refusal: { code: 'already-resolved', detail, extra: { state: call.state } } };
}

/** The approval of a call, or the one that begins at its turn. */
function currentApprovalView(ports: GatewayPorts, actor: Actor, callId: string): ApprovalView {
  const call = writtenCall(ports, actor, callId);
  const waiting = waitingApproval(call, ports.clock.now());
  // Its deadline begins at the turn.
  if (waiting !== undefined)
    return { ...toApprovalView(waiting, visibilityFor(actor, call, 'masked')), expiresAt: null, waitsForTurn: true };
  const approval = call.approvals.at(-1);
  if (approval === undefined) throw new Error(`the read model does not know the approval of ${callId}`);
  return viewsFor(ports, actor).approval({ call, approval });
}

function hasReached(call: CallRow, { until = 'decided' }: Waiting): boolean {
  return until === 'decided' ? isDecided(call.state) : isSettled(call.state);
}

async function wait(
  ports: GatewayPorts,
  waiters: Waiters,
  actor: Actor,
  callId: string,
  waiting: Waiting,
  onClose: OnClose,
): Promise<Answer> {
  const isDone = (): boolean => {
    const call = ports.readModel.toolCall(actor.tenant, callId);
    return call === undefined || hasReached(call, waiting);
  };
  await waiters.wait({ actor, callId, waitMs: Math.min(waiting.waitMs ?? 0, limits.waitMsMax), isDone, onClose });
  return ok(callView(ports, actor, callId, waiting.values));
}

/** The part of a run that a front end without a person may know of. */
function getOwnRun(ports: GatewayPorts, actor: Actor, runId: string, values?: ShownValues): Answer {
  const { readModel } = ports;
  if (!readModel.openCallsOfRun(actor.tenant, runId).requesters.includes(actor.principal)) return noSuchRun(runId);
  if (readModel.runBytes(actor.tenant, runId) > runBytesMax) return runTooLarge(runId);
  const calls = readModel.run(actor.tenant, runId).filter((call) => maySee(actor, call));
  return ok(viewsFor(ports, actor, values).run(runId, calls));
}

function noSuchRun(runId: string): Answer {
  return refused({ code: 'not-found', detail: `there is no run ${runId}` });
}

function runTooLarge(runId: string): Answer {
  const detail =
    `the calls of the run ${runId} have more than ${String(runBytesMax)} bytes together. Read each call by its id, ` +
    'or the approvals of the run in pages: GET /v1/approvals?runId=';
  return refused({ code: 'payload-too-large', detail });
}

/** Cancels the open calls of a run that the actor may cancel, one by one, since each has its own stream. */
async function cancelOpenCalls(
  ports: GatewayPorts,
  { actor, commandId }: WriteContext,
  runId: string,
  reason: string,
): Promise<Answer> {
  const { commands, readModel, store } = ports;
  // A call that another gateway has just recorded may be missing from this read model, and would not be cancelled.
  await whenShown(ports, await store.head(), shownMsMax);
  if (readModel.runBytes(actor.tenant, runId) === 0) return noSuchRun(runId);
  const openCalls: OpenCalls = {
    of: async (...run) => ({
      ...readModel.openCallsOfRun(...run),
      grants: readModel.grants.ofRun(...run, commands.clock.now()),
    }),
  };
  const run = { runId, reason, repeatedForMs: keyKeptMs };
  const outcome = await cancelRun({ ...ports, openCalls }, actor, run, commandId);
  if ('refusal' in outcome) return refused(outcome.refusal);
  const { calls, position } = outcome;
  return conclude(ports, 'CancelRun', { status: 'done', value: calls, position }, () => {
    const cancelled: string[] = [];
    const notCancelled: { callId: string; code: string; detail: string }[] = [];
    for (const { callId, outcome } of calls) {
      // A member of an all-or-nothing batch may have been cancelled along with its sibling.
      const isCancelled = readModel.toolCall(actor.tenant, callId)?.state === 'cancelled';
      if (outcome.status === 'done' || isCancelled) cancelled.push(callId);
      else notCancelled.push({ callId, code: outcome.refusal.code, detail: outcome.refusal.detail });
    }
    return { runId, cancelled, notCancelled };
  });
}
