import type { ApprovalView, DecisionType } from '@countersign/contracts';
import { doneWords, effectOf, endedWords, nameWords, printable } from '@countersign/text';

/** Describes the effect of a recorded response: `Approved: delete_file.`, or who is still needed. */
export function responseSentWords(type: DecisionType, approval: ApprovalView): string {
  const tool = nameWords(approval.toolName);
  if (approval.state !== 'pending')
    return `${doneWords[effectOf(type, approval)]}: ${tool}. The approval is ${printable(approval.state)}.`;
  const votes = approval.responses.length;
  return `Your answer to ${tool} is recorded (${String(votes)} so far); more people must answer before it is decided.`;
}

/** Describes how an approval on the screen ended: `bob approved this 3 s ago via slack.` */
export function goneWords(approval: ApprovalView, nowMs: number): string {
  const words = endedWords(approval, nowMs, printable);
  const isDecided = approval.state === 'approved' || approval.state === 'denied';
  return isDecided ? `${words} Nothing of yours was sent.` : words;
}
