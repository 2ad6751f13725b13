import type { Risk } from '@countersign/contracts';
import type { Action, Approval } from '@countersign/domain';
import type { CallRequest, CallRow } from '../call-row.js';
import { packApprovals, toAction, toEditRef, unpackApprovals } from './packed-approval.js';

function packCallProgress(row: CallRow) {
  return [
    row.revision,
    row.state,
    row.permission,
    row.execution,
    row.verdict,
    toEditRef(row.action, row),
    packApprovals(row),
    row.approvalSeqs,
    row.place,
    row.endedRunAt,
    row.committed,
    row.instruction,
    row.settledAt,
    row.dueAt,
    row.sealKey,
    row.erased,
    row.missing,
    row.unreadable,
  ] as const;
}

type PackedProgress = ReturnType<typeof packCallProgress>;

function unpackCallRow(
  seq: number,
  request: CallRequest,
  [
    revision,
    state,
    permission,
    execution,
    verdict,
    action,
    packedApprovals,
    approvalSeqs,
    place,
    endedRunAt,
    committed,
    instruction,
    settledAt,
    dueAt,
    sealKey,
    erased,
    missing,
    unreadable,
  ]: PackedProgress,
): CallRow {
  const { arguments: args, sensitive, salt, actionDigest } = request;
  const requested: Action = { arguments: args, sensitive, salt, actionDigest };
  const approvals = unpackApprovals(packedApprovals, verdict, requested);
  return {
    status: 'recorded',
    request,
    action: toAction(action, approvals, requested),
    verdict,
    permission,
    approvals,
    execution,
    committed,
    instruction,
    settledAt,
    seq,
    approvalSeqs,
    place,
    endedRunAt,
    revision,
    state,
    dueAt,
    sealKey,
    erased,
    missing,
    unreadable,
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
    request.owner ?? null,
    request.onBehalfOf ?? null,
    request.chain ?? null,
    request.title ?? null,
    request.toolDescription ?? null,
    request.metadata ?? null,
    request.schemaNotes ?? null,
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
  owner,
  onBehalfOf,
  chain,
  title,
  toolDescription,
  metadata,
  schemaNotes,
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
    ...(owner === null ? {} : { owner }),
    ...(onBehalfOf === null ? {} : { onBehalfOf }),
    ...(chain === null ? {} : { chain }),
    ...(title === null ? {} : { title }),
    ...(toolDescription === null ? {} : { toolDescription }),
    ...(metadata === null ? {} : { metadata }),
    ...(schemaNotes === null ? {} : { schemaNotes }),
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

/** A column as JSON text: sealed texts are stored as bytes. */
export function textOf(column: string): string {
  return `iif(typeof(${column}) = 'blob', opened(${column}), ${column})`;
}

/** The columns of a call's row, for every query. */
export const rowColumns = `calls.seq, ${textOf('calls.progress')} AS progress, ${textOf('requests.request')} AS request`;

/** The stored size of a row in bytes, computed without reading it. */
export const rowBytes = '(octet_length(calls.progress) + octet_length(requests.request))';

/** A row of a query, by column. */
export type Columns = Readonly<Record<string, unknown>>;

/** Returns a call's row from the columns `rowColumns`. */
export function toCallRow(columns: Columns): CallRow {
  const request = JSON.parse(String(columns['request'])) as ReturnType<typeof packCallRequest>;
  const progress = JSON.parse(String(columns['progress'])) as PackedProgress;
  return unpackCallRow(Number(columns['seq']), unpackCallRequest(request), progress);
}

/** The approval that was requested at a position of the log. */
export function approvalAt({ approvals, approvalSeqs }: CallRow, seq: number): Approval | undefined {
  return approvals[approvalSeqs.indexOf(seq)];
}

/** Names in a searchable form: `|ops|security|`, each escaped. Of groups, null is every approver. */
export function toNames(names: readonly string[] | null): string | null {
  return names === null ? null : `|${names.map(encodeURIComponent).join('|')}|`;
}

const risks: readonly (Risk | null)[] = [null, 'low', 'medium', 'high'];

/** The risk as a number that sorts: 0 is none. */
export function riskRank(risk: Risk | null): number {
  return risks.indexOf(risk);
}
