import type { ApprovalView } from '@countersign/contracts';
import { ageWords, agoWords, deadlineWords, nameWords, printable, turnWords } from '@countersign/text';
import { cut } from '../text/width.js';
import { isUnreadable } from './approval-card.js';
import type { CardOptions } from './approval-card.js';
import type { Line } from './line.js';

/** An approval in three lines for a list: its whole id, to be copied; what it is about; who asks. */
export function approvalSummary(approval: ApprovalView, { columns, nowMs }: CardOptions): Line[] {
  // Before the rest, which may be cut.
  const risk = approval.risk === null ? '' : `${approval.risk} risk, `;
  const id = printable(approval.approvalId);
  const call = `${nameWords(approval.toolName)} ${compactJson(approval.arguments, columns)}`;
  const who = `${forOthers(approval)}agent ${nameWords(approval.agentId)}, run ${nameWords(approval.runId)}`;
  return [
    { text: cut(`${id}  ${risk}${whenWords(approval, nowMs)}`, Math.max(columns, id.length)), tone: 'bold' },
    { text: cut(`  ${call}`, columns) },
    { text: cut(`  ${who}`, columns), tone: 'dim' },
  ];
}

function whenWords({ state, requestedAt, expiresAt, resolvedAt, mayDecide }: ApprovalView, nowMs: number): string {
  if (isUnreadable(mayDecide)) return 'cannot be read: nothing is decided';
  if (state !== 'pending') return `${state}${resolvedAt === null ? '' : ` ${agoWords(resolvedAt, nowMs)}`}`;
  const left = deadlineWords(expiresAt, nowMs);
  return `waits ${ageWords(requestedAt, nowMs)}, ${expiresAt === null ? 'no deadline' : `deadline ${left === 'over' ? 'over' : `in ${left}`}`}`;
}

/** Before the names, which may be cut. */
function forOthers({ state, mayDecide }: ApprovalView): string {
  const words = state === 'pending' ? turnWords(mayDecide) : '';
  return words === '' ? '' : `${words}; `;
}

/** A JSON value on one line, with a mark where it is cut. */
export function compactJson(value: unknown, charactersMax: number): string {
  return printable(JSON.stringify(value ?? null), charactersMax);
}
