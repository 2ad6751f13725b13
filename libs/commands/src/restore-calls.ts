import { toolCallStream } from '@countersign/contracts';
import { currentApproval, toolCallRules } from '@countersign/domain';
import type { ToolCall } from '@countersign/domain';
import type { Actor } from './actor.js';
import { builtInBatch, settleBatch } from './batch.js';
import { claim, serviceResolver } from './claim.js';
import { revokeGrant } from './grants/grants.js';
import { requestApproval } from './people/ask.js';
import { cancelToolCall } from './people/cancel-call.js';
import type { CommandPorts } from './ports.js';
import { callOf, withToolCall } from './stream/with-tool-call.js';

/** A log that was restored from a backup. */
export interface RestoredLog {
  /** The position of its last event. What happened after it is not known. */
  readonly end: number;
  /** In words, for the people who are asked. */
  readonly why: string;
}

/** Claims of this resolver run nothing: they only say that the call may have run. */
const restoring = 'countersign-restore';

const service = (tenant: string, principal: string): Actor => ({
  ...{ tenant, principal, roles: new Set(), groups: [], agentIds: [], via: 'api', assurance: 'low' },
});

/**
 * Takes the right to run from a call of a restored log. It may have run after the backup, so nothing that was permitted before the
 * restore runs without a new response: a claimed call gets the outcome `unknown`, and people are asked again about one that
 * was approved or allowed. Where they cannot be asked, the right ends or the call is cancelled; where its batch has begun, its
 * outcome is unknown.
 * A call with a later event was handled before, and a pending approval stays as it is.
 */
export async function restoreCall(
  given: CommandPorts,
  tenant: string,
  callId: string,
  restored: RestoredLog,
): Promise<void> {
  // All this only restricts, so a stop holds back none of it: else a call would be claimable when the stop is lifted, or nobody be asked.
  const ports = { ...given, stops: { ...given.stops, fresh: () => [], known: () => [] } };
  const { state, position } = await ports.handler.load(toolCallStream(callId));
  const call = callOf(state, tenant);
  if (call === undefined) return;
  const { execution } = call;
  // A process that ended in between has left its claim.
  const isOurs = execution.status === 'claimed' && execution.resolverId === restoring;
  if (position > restored.end && !isOurs) return;
  switch (execution.status) {
    case 'claimed':
    case 'released':
      return loseOutcome(ports, call, execution.attempt, restored);
    case 'none':
      return askAgain(ports, call, restored);
    default:
  }
}

async function askAgain(ports: CommandPorts, call: ToolCall, restored: RestoredLog): Promise<void> {
  const { status } = call.permission;
  if (status === 'approved') {
    if (await lapse(ports, call)) await ask(ports, call, restored);
    else await claimAndLose(ports, call, restored);
  } else if (status === 'allowed' || isAllowedAtTurn(call)) {
    if (!(await ask(ports, call, restored))) await cancel(ports, call, restored);
  }
}

function isAllowedAtTurn({ permission }: ToolCall): boolean {
  return permission.status === 'awaiting_approval' && permission.queued?.question === null;
}

/** Asks in the name of the requester, whose own response does not count. Returns false where people cannot be asked. */
async function ask(ports: CommandPorts, { request }: ToolCall, { why: reason }: RestoredLog): Promise<boolean> {
  const { tenant, callId, requestedBy, agentId } = request;
  const asker: Actor = { ...service(tenant, requestedBy), roles: new Set(['agent']), agentIds: [agentId] };
  const asked = await requestApproval(ports, asker, callId, { reason }, ports.ids.uuid());
  return asked.status === 'done';
}

async function cancel(ports: CommandPorts, call: ToolCall, restored: RestoredLog): Promise<void> {
  const { tenant, callId } = call.request;
  const admin: Actor = { ...service(tenant, 'countersign'), roles: new Set(['admin']) };
  const cancelled = await cancelToolCall(ports, admin, callId, restored.why, ports.ids.uuid());
  if (cancelled.status === 'refused') await claimAndLose(ports, call, restored);
}

/** Ends the right to run an approved call. Returns false where its batch has begun, so that nothing ends it. */
async function lapse(ports: CommandPorts, call: ToolCall): Promise<boolean> {
  const { tenant, callId } = call.request;
  const commandId = ports.ids.uuid();
  const outcome = await withToolCall(ports, { tenant, callId, commandId }, toolCallRules.lapseApproval, (now, at) => {
    const approvalId = currentApproval(now)?.approvalId ?? '';
    return builtInBatch(
      ports,
      now,
      () => ({ type: 'LapseApproval', approvalId, at, isRestored: true }) as const,
      commandId,
    );
  });
  if (outcome.status === 'refused') return false;
  await settleBatch(ports, outcome.value);
  return outcome.value.permission.status === 'expired';
}

/** What nobody may claim now needs no end. */
async function claimAndLose(ports: CommandPorts, { request }: ToolCall, restored: RestoredLog): Promise<void> {
  const { tenant, callId } = request;
  const resolver = service(tenant, serviceResolver);
  const claimed = await claim(ports, resolver, callId, { resolverId: restoring, isRestored: true }, ports.ids.uuid());
  if (claimed.status === 'done') await loseOutcome(ports, { request }, claimed.value.attempt, restored);
}

async function loseOutcome(
  ports: CommandPorts,
  { request: { tenant, callId } }: Pick<ToolCall, 'request'>,
  attempt: number,
  { why: abandoned }: RestoredLog,
): Promise<void> {
  const target = { tenant, callId, commandId: ports.ids.uuid() };
  await withToolCall(ports, target, toolCallRules.lapseClaim, (_, at) => ({
    ...{ type: 'LapseClaim', at, attempt, abandoned, isRestored: true },
  }));
}

/** Ends a grant of a restored log: it may have been revoked or used up after the backup. */
export async function restoreGrant(
  ports: CommandPorts,
  tenant: string,
  grantId: string,
  { why: reason }: RestoredLog,
): Promise<void> {
  await revokeGrant(ports, service(tenant, 'countersign'), { grantId, reason }, ports.ids.uuid());
}
