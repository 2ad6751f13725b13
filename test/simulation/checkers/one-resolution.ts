import type { RecordedEvent } from '@countersign/contracts';
import { at } from './checker.ts';
import type { CreateChecker } from './checker.ts';

/** Each approval ends once, and has no later events. */
export const oneResolution: CreateChecker = (_, fail) => {
  const ended = new Map<string, string>();
  return {
    onRecorded: (event) => {
      const approvalId = at(event, 'approvalId');
      if (typeof approvalId !== 'string' || !aboutApproval.has(event.type)) return;
      const before = ended.get(approvalId);
      if (before !== undefined) fail(`${approvalId} had ended by ${before}, and then ${event.type} was recorded`);
      if (ends(event)) ended.set(approvalId, event.type);
    },
  };
};

const aboutApproval = new Set([
  'ApprovalDescribed',
  'ApprovalResponded',
  'ResponseWithdrawn',
  'ApprovalExpired',
  'ApprovalEscalated',
  'ApproversReminded',
  'ToolCallCancelled',
]);

function ends(event: RecordedEvent): boolean {
  switch (event.type) {
    case 'ApprovalResponded':
      return at(event, 'resolution') !== 'pending';
    case 'ApprovalExpired':
    case 'ToolCallCancelled':
      return true;
    default:
      return false;
  }
}
