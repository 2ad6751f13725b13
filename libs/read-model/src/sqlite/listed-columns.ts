import type { StatementSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import { comparedIdentity } from '@countersign/contracts';
import { expiresAtOf, groupsAsked, requirementOf } from '@countersign/domain';
import type { Approval } from '@countersign/domain';
import type { CallRow } from '../call-row.js';
import { riskRank, toNames } from './stored-row.js';

type Prepare = (sql: string) => StatementSync;

/** The latest time that a date can have: an approval without an end is the last one. */
const neverMs = 8.64e15;

/** The columns by which a call is found, in the order of the table; its content follows them. */
export function callColumns(row: CallRow): readonly (string | number | null)[] {
  const { callId, tenant, runId, toolName, agentId, requestedBy, requestedAt } = row.request;
  return [
    ...[row.seq, callId, tenant, runId, row.state, row.dueAt],
    ...[toolName, agentId, requestedBy, Date.parse(requestedAt)],
  ];
}

/** The row of an approval, in the order of the table. */
export function approvalColumns(row: CallRow, approval: Approval, seq: number): readonly (string | number | null)[] {
  const { tenant, toolName, runId, agentId, requestedBy, toolCallId } = row.request;
  const [asked, risk, expiresAt, respondedBy] = changingColumns(approval);
  return [
    ...[seq, row.seq, tenant, approval.resolution.status, toolName, runId, agentId, requestedBy, asked],
    ...[Date.parse(approval.requestedAt), toolCallId, approval.verdict.ruleId, risk, expiresAt, respondedBy],
  ];
}

/** The filtered columns of an approval that later events change. */
export function changingColumns(approval: Approval): readonly [string | null, number, number, string | null] {
  const expiresAt = expiresAtOf(approval);
  const voters = approval.votes
    .filter(({ status }) => status !== 'withdrawn')
    .map(({ respondedBy }) => comparedIdentity(respondedBy));
  return [
    toNames(groupsAsked(approval)),
    riskRank(requirementOf(approval).risk),
    expiresAt === null ? neverMs : Date.parse(expiresAt),
    voters.length === 0 ? null : toNames([...new Set(voters)]),
  ];
}

/** Returns whether lists find a call and its approvals by the columns that its row gives. */
export function isListedBy(prepare: Prepare, row: CallRow): boolean {
  const call = prepare(
    `SELECT seq, call_id, tenant, run_id, state, due_at, tool_name, agent_id, requested_by, requested_at
     FROM calls WHERE seq = ?`,
  ).get(row.seq);
  const approval = prepare('SELECT * FROM approvals WHERE seq = ?');
  return (
    isDeepStrictEqual(valuesOf(call), callColumns(row)) &&
    row.approvals.every((one, index) => {
      const seq = row.approvalSeqs[index] ?? 0;
      return isDeepStrictEqual(valuesOf(approval.get(seq)), approvalColumns(row, one, seq));
    })
  );
}

const valuesOf = (columns: Readonly<Record<string, unknown>> | undefined): readonly unknown[] =>
  Object.values(columns ?? {});
