import type { ApprovalView, DecisionType } from '@countersign/contracts';
import { agoWords, doneWords, printable } from '@countersign/text';

/** Describes the effect of a recorded response: `Approved: delete_file.`, or who is still needed. */
export function responseSentWords(type: DecisionType, approval: ApprovalView): string {
  const tool = printable(approval.toolName);
  if (approval.state !== 'pending') return `${doneWords[type]}: ${tool}. The approval is ${printable(approval.state)}.`;
  const votes = approval.responses.length;
  return `Your answer to ${tool} is recorded (${String(votes)} so far); more people must answer before it is decided.`;
}

/** Describes how an approval on the screen ended: `bob approved this 3 s ago via slack.` */
export function goneWords(approval: ApprovalView, nowMs: number): string {
  const last = approval.responses.at(-1);
  const when = approval.resolvedAt === null ? '' : ` ${agoWords(approval.resolvedAt, nowMs)}`;
  switch (approval.state) {
    case 'approved':
    case 'denied': {
      if (last === undefined) return `This was ${approval.state}${when}.`;
      return `${printable(last.respondedBy)} ${approval.state} this${when} via ${printable(last.via)}. Nothing of yours was sent.`;
    }
    case 'expired':
      return `It expired${when}.`;
    case 'cancelled':
      return `The call was cancelled${when}.`;
    case 'pending':
      return 'It is pending again.';
  }
}
