import type { CallProgress, CallRequest, CallRow } from '../call-row.js';
import { approvalPacking } from './packed-approval.js';

function packCallProgress(call: CallProgress) {
  return [
    call.revision,
    call.state,
    call.permission,
    call.execution,
    call.verdict,
    call.action,
    call.approvals.map(approvalPacking.pack),
    call.executeBy,
    call.claim,
    call.output,
    call.error,
    call.why,
    call.instruction,
    call.settledAt,
    call.dueAt,
  ] as const;
}

function unpackCallProgress([
  revision,
  state,
  permission,
  execution,
  verdict,
  action,
  approvals,
  executeBy,
  claim,
  output,
  error,
  why,
  instruction,
  settledAt,
  dueAt,
]: ReturnType<typeof packCallProgress>): CallProgress {
  return {
    revision,
    state,
    permission,
    execution,
    verdict,
    action,
    approvals: approvals.map(approvalPacking.unpack),
    executeBy,
    claim,
    output,
    error,
    why,
    instruction,
    settledAt,
    dueAt,
  };
}

function packCallRequest(request: CallRequest) {
  return [
    request.callId,
    request.tenant,
    request.runId,
    request.agentId,
    request.batchId,
    request.batchMode,
    request.batchCallIds,
    request.toolCallId,
    request.toolName,
    request.arguments,
    request.toolSchemaHash,
    request.salt,
    request.actionDigest,
    request.sensitive,
    request.clientExecuted,
    request.idempotent,
    request.labels,
    request.requestedBy,
    request.requestedAt,
  ] as const;
}

function unpackCallRequest([
  callId,
  tenant,
  runId,
  agentId,
  batchId,
  batchMode,
  batchCallIds,
  toolCallId,
  toolName,
  args,
  toolSchemaHash,
  salt,
  actionDigest,
  sensitive,
  clientExecuted,
  idempotent,
  labels,
  requestedBy,
  requestedAt,
]: ReturnType<typeof packCallRequest>): CallRequest {
  return {
    callId,
    tenant,
    runId,
    agentId,
    batchId,
    batchMode,
    batchCallIds,
    toolCallId,
    toolName,
    arguments: args,
    toolSchemaHash,
    salt,
    actionDigest,
    sensitive,
    clientExecuted,
    idempotent,
    labels,
    requestedBy,
    requestedAt,
  };
}

/** The part of a row that later events change, as stored. */
export function toStoredProgress(row: CallRow): string {
  return JSON.stringify(packCallProgress(row));
}

/** The part that is written once, as stored. */
export function toStoredRequest(row: CallRow): string {
  return JSON.stringify(packCallRequest(row.request));
}

/** The columns in which a call's row comes back, whatever the query. */
export const rowColumns = 'calls.seq, calls.progress, requests.request';

/** How many bytes a row is stored in; nothing of it is read for that. */
export const rowBytes = '(octet_length(calls.progress) + octet_length(requests.request))';

/** A row of a query, by column. */
export type Columns = Readonly<Record<string, unknown>>;

/** A call's row out of the columns `rowColumns`. */
export function toCallRow(columns: Columns): CallRow {
  return {
    ...unpackCallProgress(JSON.parse(String(columns['progress'])) as ReturnType<typeof packCallProgress>),
    seq: Number(columns['seq']),
    request: unpackCallRequest(JSON.parse(String(columns['request'])) as ReturnType<typeof packCallRequest>),
  };
}

/** Groups in the form in which a filter finds one: `|ops|security|`, each escaped; null for anybody. */
export function toAsked(groups: readonly string[] | null): string | null {
  return groups === null ? null : `|${groups.map(encodeURIComponent).join('|')}|`;
}
