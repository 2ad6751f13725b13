import type { ApprovalView } from '@countersign/contracts';
import type { Account } from '../client/approvals.js';
import { printable } from '@countersign/text';

/** Why the person cannot decide; undefined: they can, or have answered. */
export function excludedWords(
  { roles, principal }: Pick<Account, 'roles' | 'principal'>,
  { mayDecide }: ApprovalView,
  hasAnswered: boolean,
): string | undefined {
  if (mayDecide?.now === false && mayDecide.why === 'unreadable') return printable(mayDecide.detail);
  if (principal === '') return 'Reading who you are …';
  if (!roles.includes('approver')) return 'You can look, not decide: your account lacks the role approver.';
  if (hasAnswered || mayDecide?.now !== false || mayDecide.why === 'expired') return undefined;
  return printable(`You can look, not decide. ${mayDecide.detail}`);
}
