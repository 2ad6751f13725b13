import { parseApprovalId, toolCallStream } from '@countersign/contracts';
import type { RespondInBulkBody, Refusal } from '@countersign/contracts';
import { toolCallRules } from '@countersign/domain';
import { sideBySide } from '@countersign/runtime';
import type { Actor } from './actor.js';
import { callOf } from './with-tool-call.js';
import type { Result } from './result.js';
import type { CommandPorts } from './ports.js';
import { oversizeResult } from './output-size.js';
import { answer, toResponse } from './respond.js';

/** The result for one of many approvals. `skipped`: all-or-nothing, and another one was refused. */
export type BulkResult =
  | { readonly approvalId: string; readonly status: 'done' }
  | { readonly approvalId: string; readonly status: 'skipped' }
  | { readonly approvalId: string; readonly status: 'refused'; readonly refusal: Refusal };

/** Calls may have large arguments: so many of them are in memory. */
const atOnce = 32;

/**
 * One decision for many approvals. `all-or-nothing` checks all before the first is recorded; a response that then loses
 * a race is reported in its own result.
 */
export async function respondInBulk(
  given: CommandPorts,
  actor: Actor,
  body: RespondInBulkBody,
  commandId: string,
): Promise<Result<readonly BulkResult[]>> {
  const oversize = oversizeResult(body.decision, 'decision.');
  if (oversize !== undefined) return oversize;
  const ports = { ...given, schemas: given.schemas.forOneRequest() };
  const { mode = 'independent', approvalIds: listed, ...response } = body;
  const approvalIds = [...new Set(listed)];
  if (mode === 'all-or-nothing' && !(await hasBegun(ports, approvalIds, commandId))) {
    const checked = await sideBySide(approvalIds, atOnce, (id) => check(ports, actor, id, response));
    if (checked.some((refusal) => refusal !== undefined)) {
      return { status: 'done', value: approvalIds.map((id, index) => toUnapplied(id, checked[index])), position: 0 };
    }
  }
  const outcomes = await sideBySide(approvalIds, atOnce, (id) => answer(ports, actor, id, response, commandId));
  const position = Math.max(0, ...outcomes.map((one) => (one.status === 'done' ? one.position : 0)));
  return { status: 'done', value: approvalIds.map((id, index) => toResult(id, outcomes[index])), position };
}

/**
 * Resolves to whether a first try of this command, whose response was lost, recorded some responses: then the check
 * must be skipped, because it would mistake them for another person's.
 */
async function hasBegun(ports: CommandPorts, approvalIds: readonly string[], commandId: string): Promise<boolean> {
  const begun = await sideBySide(approvalIds, atOnce, async (approvalId) => {
    const target = parseApprovalId(approvalId);
    if (target === undefined) return false;
    const { commandIds } = await ports.handler.load(toolCallStream(target.callId));
    return commandIds.includes(commandId);
  });
  return begun.includes(true);
}

function toUnapplied(approvalId: string, refusal: Refusal | undefined): BulkResult {
  return refusal === undefined ? { approvalId, status: 'skipped' } : { approvalId, status: 'refused', refusal };
}

function toResult(approvalId: string, outcome: Result | undefined): BulkResult {
  if (outcome?.status !== 'refused') return { approvalId, status: 'done' };
  return { approvalId, status: 'refused', refusal: outcome.refusal };
}

async function check(
  ports: CommandPorts,
  actor: Actor,
  approvalId: string,
  response: Omit<RespondInBulkBody, 'approvalIds' | 'mode'>,
): Promise<Refusal | undefined> {
  const target = parseApprovalId(approvalId);
  const stream = target === undefined ? undefined : await ports.handler.load(toolCallStream(target.callId));
  const call = stream === undefined ? undefined : callOf(stream.state, actor.tenant);
  if (call === undefined) return { code: 'unknown-approval', detail: `there is no approval ${approvalId}` };
  // The append itself checks, for each member, that the batch has not begun.
  const command = {
    ...toResponse(ports, actor, call, approvalId, response, ports.clock.now()),
    batch: 'broken',
  } as const;
  const decision = toolCallRules.respondToApproval(command, call);
  return decision.status === 'refused' ? decision.refusal : undefined;
}
