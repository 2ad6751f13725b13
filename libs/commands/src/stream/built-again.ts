import type { AnswerSignature } from '@countersign/contracts';
import type { BatchBound, RespondToApproval } from '@countersign/domain';
import type { Refused } from './with-tool-call.js';

/** What takes time to find out about a command. */
interface Found {
  readonly batch?: BatchBound['batch'];
  readonly signature?: AnswerSignature;
  readonly removedPasskeys?: readonly string[];
  readonly shownOthers?: RespondToApproval['shownOthers'];
}

/**
 * The command with what `find` adds to it. When that took time, the command is built again, and decided at once: it is about
 * the people, the policy and the time of now.
 *
 * Attack: a person is removed, or a rule made stricter, while the batch of the call is looked at.
 */
export function builtAgain<Command extends Found>(
  first: Command,
  build: () => Command | Refused,
  find: (command: Command) => Command | Refused | Promise<Command | Refused>,
): Command | Refused | Promise<Command | Refused> {
  const found = find(first);
  if (!(found instanceof Promise)) return found;
  return found.then((one) => {
    const last = 'refusal' in one ? one : build();
    if ('refusal' in one || 'refusal' in last) return last;
    const { batch, signature, removedPasskeys, shownOthers } = one;
    return {
      ...last,
      ...(batch !== undefined && { batch }),
      ...(signature !== undefined && { signature }),
      ...(removedPasskeys !== undefined && { removedPasskeys }),
      ...(shownOthers !== undefined && { shownOthers }),
    };
  });
}
