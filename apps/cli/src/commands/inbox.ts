import type { ExitCode } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import type { ApprovalFilters } from './list.js';

/** `countersign inbox`: interactive where there is a terminal on both sides; otherwise the list, once. */
export async function inbox(invocation: Invocation, filters: ApprovalFilters): Promise<ExitCode> {
  const { stdin, stdout } = invocation.terminal;
  if (invocation.json || !stdin.isTTY || !stdout.isTTY) return (await import('./list.js')).list(invocation, filters);
  return (await import('../inbox/inbox-session.js')).runInbox(invocation, filters);
}
