import { hiddenValues, masksIn, parseApprovalId, toolCallStream } from '@countersign/contracts';
import type { RespondBody, RespondInBulkBody, Refusal } from '@countersign/contracts';
import { toolCallRules } from '@countersign/domain';
import type { ToolCall } from '@countersign/domain';
import { sideBySide } from '@countersign/runtime';
import type { Actor } from '../actor.js';
import { stopped, whenStopsKnown } from '../stops/stopped.js';
import { forbidden } from '../stream/forbidden.js';
import { callOf } from '../stream/with-tool-call.js';
import type { Result } from '../result.js';
import type { CommandPorts } from '../ports.js';
import { oversizeResult } from './output-size.js';
import { answer, askedAction, toResponse } from './respond.js';
import { noApproverNow } from './responder.js';
import { withShownOthers } from './shown-others.js';
import { unreadableRefusal } from '../stream/unreadable-stream.js';

/**
 * The result for one of many approvals. `skipped`: all-or-nothing, and another one was refused. `possible`: a dry run,
 * and the rules allow it now.
 */
export type BulkResult =
  | { readonly approvalId: string; readonly status: 'done' | 'skipped' | 'possible' }
  | { readonly approvalId: string; readonly status: 'refused'; readonly refusal: Refusal };

/** The number of calls in memory at once, because calls may have large arguments. */
const atOnce = 32;

/** Returns a promise when others should have their turn first. */
export type Breathe = () => Promise<void> | undefined;

/** Does a piece of work at once, or after others had their turn. Several may wait for the same turn: each asks again. */
async function inTurn<Value>(breathe: Breathe | undefined, work: () => Value): Promise<Awaited<Value>> {
  for (let breath = breathe?.(); breath !== undefined; breath = breathe?.()) await breath;
  return await work();
}

/**
 * One decision for many approvals. `all-or-nothing` checks all before the first is recorded; a response that then loses
 * a race is reported in its own result.
 * @param breathe is asked before each response. Attack: an edit with large arguments of many calls takes seconds together.
 */
export async function respondInBulk(
  given: CommandPorts,
  actor: Actor,
  body: RespondInBulkBody,
  commandId: string,
  breathe?: Breathe,
): Promise<Result<readonly BulkResult[]>> {
  const oversize = oversizeResult(body.decision, 'decision.');
  if (oversize !== undefined) return oversize;
  const ports: CommandPorts = { ...given, schemas: given.schemas.forOneRequest(), seenForYes: new Map() };
  const { mode = 'independent', dryRun = false } = body;
  const approvalIds = [...new Set(body.approvalIds)];
  if (dryRun || (mode === 'all-or-nothing' && !(await hasBegun(ports, approvalIds, commandId)))) {
    const checked = await sideBySide(approvalIds, atOnce, (id) =>
      check(ports, actor, id, responseTo(body, id), breathe),
    );
    if (dryRun || checked.some((refusal) => refusal !== undefined)) {
      const left = dryRun ? 'possible' : 'skipped';
      const value = approvalIds.map((id, index) => toUnapplied(id, checked[index], left));
      return { status: 'done', value, position: 0 };
    }
  }
  // After the check, which may have taken seconds.
  const recording = { ...ports, seenForYes: new Map() };
  const outcomes = await sideBySide(approvalIds, atOnce, (id) =>
    answer(recording, byClick(actor, approvalIds, commandId), id, responseTo(body, id), commandId, (build) =>
      inTurn(breathe, build),
    ),
  );
  const position = Math.max(0, ...outcomes.map((one) => (one.status === 'done' ? one.position : 0)));
  return { status: 'done', value: approvalIds.map((id, index) => toResult(id, outcomes[index])), position };
}

/** The person, with the id of a click that was about several approvals. */
function byClick(actor: Actor, { length }: readonly string[], commandId: string): Actor {
  return length > 1 ? { ...actor, bulkId: commandId } : actor;
}

/** The response to one of the approvals. It is bound to the proposal that the person saw, if they named it. */
function responseTo(
  {
    actionDigests,
    proposalDigests,
    shownDigests,
    shownRevisions,
    shownOthersDigests,
    decision,
    reason,
    instruction,
  }: RespondInBulkBody,
  approvalId: string,
): RespondBody {
  const actionDigest = ofApproval(actionDigests, approvalId);
  const proposalDigest = ofApproval(proposalDigests, approvalId);
  const shownDigest = ofApproval(shownDigests, approvalId);
  const shownRevision = ofApproval(shownRevisions, approvalId);
  const shownOthersDigest = ofApproval(shownOthersDigests, approvalId);
  const shown = { actionDigest, proposalDigest, shownDigest, shownRevision, shownOthersDigest };
  return { decision, reason, instruction, ...shown };
}

function ofApproval<Value>(
  bindings: Readonly<Record<string, Value>> | undefined,
  approvalId: string,
): Value | undefined {
  return bindings !== undefined && Object.hasOwn(bindings, approvalId) ? bindings[approvalId] : undefined;
}

/**
 * Resolves to whether a first try of this command, whose response was lost, recorded some responses: then the check
 * must be skipped, because it would mistake them for another person's.
 */
async function hasBegun(ports: CommandPorts, approvalIds: readonly string[], commandId: string): Promise<boolean> {
  const begun = await sideBySide(approvalIds, atOnce, async (approvalId) => {
    const target = parseApprovalId(approvalId);
    if (target === undefined) return false;
    const { commandIds } = await ports.handler.look(toolCallStream(target.callId));
    return commandIds.includes(commandId);
  });
  return begun.includes(true);
}

function toUnapplied(approvalId: string, refusal: Refusal | undefined, left: 'skipped' | 'possible'): BulkResult {
  return refusal === undefined ? { approvalId, status: left } : { approvalId, status: 'refused', refusal };
}

function toResult(approvalId: string, outcome: Result | undefined): BulkResult {
  if (outcome?.status !== 'refused') return { approvalId, status: 'done' };
  return { approvalId, status: 'refused', refusal: outcome.refusal };
}

async function check(
  ports: CommandPorts,
  actor: Actor,
  approvalId: string,
  response: RespondBody,
  breathe: Breathe | undefined,
): Promise<Refusal | undefined> {
  const target = parseApprovalId(approvalId);
  const stream = target === undefined ? undefined : await ports.handler.look(toolCallStream(target.callId));
  if (stream?.unreadable !== undefined) return unreadableRefusal(stream.unreadable);
  const call = stream === undefined ? undefined : callOf(stream.state, actor.tenant);
  if (call === undefined) return { code: 'unknown-approval', detail: `there is no approval ${approvalId}` };
  const prohibited = await heldBack(ports, actor, call, response);
  if (prohibited !== undefined) return prohibited.refusal;
  const secret = hiddenInTrial(call, approvalId, response);
  if (secret !== undefined) return secret;
  const command = await inTurn(breathe, () => toResponse(ports, actor, call, approvalId, response, ports.clock.now()));
  // The append itself checks, for each member, that the batch has not begun.
  const judged = { ...(await withShownOthers(ports, call, response, command)), batch: 'broken' } as const;
  const decision = toolCallRules.respondToApproval(judged, call);
  return decision.status === 'refused' ? decision.refusal : undefined;
}

/** A denial only restricts: no stop holds it back. */
async function heldBack(ports: CommandPorts, actor: Actor, { request }: ToolCall, { decision }: RespondBody) {
  const byStop =
    decision.type === 'deny' ? undefined : whenStopsKnown(ports, request.tenant, () => stopped(ports, request));
  return (await byStop) ?? forbidden(ports, request, 'judge') ?? noApproverNow(ports, actor);
}

/**
 * Attack: an approver tries edits that keep a hidden value next to a guess, or next to a bound. A schema that wants different
 * values, or a rule that compares two of them, tells the hidden one, and nothing is recorded.
 */
function hiddenInTrial(call: ToolCall, approvalId: string, { decision }: RespondBody): Refusal | undefined {
  if (decision.type !== 'edit' || masksIn(JSON.stringify(decision.arguments)).length === 0) return undefined;
  const { arguments: args, sensitive } = askedAction(call, approvalId);
  if (hiddenValues(args, sensitive).length === 0) return undefined;
  const detail =
    'An edit that keeps hidden values is not tried, because the result would tell them: send it as one response.';
  return { code: 'decision-not-allowed', detail };
}
