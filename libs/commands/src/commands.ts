import type {
  ClaimView,
  ClientOutputBody,
  OutcomeBody,
  RequestApprovalBody,
  RequestToolCalls,
  RespondBody,
  RespondInBulkBody,
  RevealedView,
} from '@countersign/contracts';
import { toolCallStream } from '@countersign/contracts';
import type { ToolCall } from '@countersign/domain';
import type { Actor } from './actor.js';
import { cancelToolCall, describeApproval, requestApproval } from './ask-and-cancel.js';
import { closeBatch } from './batch.js';
import { abandonClaim, claim, reconcile, renewClaim, reportExecution, submitClientOutput } from './execution.js';
import { fireDue } from './fire-due.js';
import { callOf } from './on-call.js';
import type { Outcome } from './outcome.js';
import type { CommandPorts } from './ports.js';
import { requestToolCalls } from './request-tool-calls.js';
import type { RequestedToolCalls } from './request-tool-calls.js';
import { respond, reveal, withdraw } from './respond.js';
import { respondInBulk } from './respond-in-bulk.js';
import type { BulkResult } from './respond-in-bulk.js';

/**
 * The write side: everything that can be asked of the ledger. Each command loads its stream, decides, and appends at
 * the revision that it decided on; roles are checked by the edge, ownership here.
 *
 * `commandId`: a repeat of a command with the same id is recognised in the stream and adds nothing.
 * @throws EventStoreUnavailableError when the store cannot be written; repeating the command is safe.
 */
export interface Commands {
  requestToolCalls(actor: Actor, body: RequestToolCalls, commandId: string): Promise<Outcome<RequestedToolCalls>>;
  requestApproval(actor: Actor, callId: string, body: RequestApprovalBody, commandId: string): Promise<Outcome>;
  /** Adds the reason and the description that a pending approval lacks. */
  describeApproval(
    actor: Actor,
    callId: string,
    body: Pick<RequestApprovalBody, 'reason' | 'description'>,
    commandId: string,
  ): Promise<Outcome>;
  respond(actor: Actor, approvalId: string, body: RespondBody, commandId: string): Promise<Outcome>;
  respondInBulk(actor: Actor, body: RespondInBulkBody, commandId: string): Promise<Outcome<readonly BulkResult[]>>;
  withdraw(actor: Actor, approvalId: string, commandId: string): Promise<Outcome>;
  /** The arguments with their hidden values, for who may answer; recorded first. */
  reveal(actor: Actor, approvalId: string, commandId: string): Promise<Outcome<RevealedView>>;
  cancelToolCall(actor: Actor, callId: string, reason: string, commandId: string): Promise<Outcome>;
  claim(
    actor: Actor,
    callId: string,
    body: { readonly resolverId: string; readonly leaseMs?: number | undefined },
    commandId: string,
  ): Promise<Outcome<ClaimView>>;
  renewClaim(
    actor: Actor,
    callId: string,
    body: { readonly attempt: number; readonly leaseMs?: number | undefined },
    commandId: string,
  ): Promise<Outcome<{ readonly attempt: number; readonly leaseUntil: string }>>;
  reportExecution(actor: Actor, callId: string, body: OutcomeBody, commandId: string): Promise<Outcome>;
  /** Its holder gives a claim up, and says why nobody will ever know the outcome. */
  abandonClaim(
    actor: Actor,
    callId: string,
    body: { readonly attempt: number; readonly reason: string },
    commandId: string,
  ): Promise<Outcome>;
  submitClientOutput(actor: Actor, callId: string, body: ClientOutputBody, commandId: string): Promise<Outcome>;
  reconcile(
    actor: Actor,
    callId: string,
    body: { readonly status: 'succeeded' | 'failed' | 'retry'; readonly note: string },
    commandId: string,
  ): Promise<Outcome>;
  /** A call as its own stream says now; undefined when this tenant has none of that id. */
  find(tenant: string, callId: string): Promise<ToolCall | undefined>;
  /** Records what a call's deadline brings, if it has come; null when nothing was due. */
  fireDue(tenant: string, callId: string): Promise<number | null>;
  /** Cancels the open siblings of an all-or-nothing batch whose member ended without running. */
  closeBatch(tenant: string, callId: string): Promise<number>;
}

/** The write side over its ports. */
export function createCommands(ports: CommandPorts): Commands {
  return {
    requestToolCalls: (actor, body, commandId) => requestToolCalls(ports, actor, body, commandId),
    requestApproval: (actor, callId, body, commandId) => requestApproval(ports, actor, callId, body, commandId),
    describeApproval: (actor, callId, body, commandId) => describeApproval(ports, actor, callId, body, commandId),
    respond: (actor, approvalId, body, commandId) => respond(ports, actor, approvalId, body, commandId),
    respondInBulk: (actor, body, commandId) => respondInBulk(ports, actor, body, commandId),
    withdraw: (actor, approvalId, commandId) => withdraw(ports, actor, approvalId, commandId),
    reveal: (actor, approvalId, commandId) => reveal(ports, actor, approvalId, commandId),
    cancelToolCall: (actor, callId, reason, commandId) => cancelToolCall(ports, actor, callId, reason, commandId),
    claim: (actor, callId, body, commandId) => claim(ports, actor, callId, body, commandId),
    renewClaim: (actor, callId, body, commandId) => renewClaim(ports, actor, callId, body, commandId),
    reportExecution: (actor, callId, body, commandId) => reportExecution(ports, actor, callId, body, commandId),
    abandonClaim: (actor, callId, body, commandId) => abandonClaim(ports, actor, callId, body, commandId),
    find: async (tenant, callId) => callOf((await ports.handler.load(toolCallStream(callId))).state, tenant),
    submitClientOutput: (actor, callId, body, commandId) => submitClientOutput(ports, actor, callId, body, commandId),
    reconcile: (actor, callId, body, commandId) => reconcile(ports, actor, callId, body, commandId),
    fireDue: (tenant, callId) => fireDue(ports, tenant, callId),
    closeBatch: (tenant, callId) => closeBatch(ports, tenant, callId),
  };
}
