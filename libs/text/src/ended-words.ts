import { nameWords, responderWords } from './people-words.js';
import type { Responded } from './people-words.js';
import { agoWords } from './time-words.js';

/** An approval that is over, or waits. */
export interface EndedApproval {
  readonly state: 'pending' | 'approved' | 'denied' | 'expired' | 'cancelled';
  readonly resolvedAt: string | null;
  readonly proposal: {
    readonly kind: 'run' | 'answer';
    readonly proposedBy: string;
    /** Null: it is the request of the agent. */
    readonly replaces: number | null;
  };
  readonly responses: readonly (Responded & {
    readonly decision: { readonly type: 'approve' | 'edit' | 'deny' | 'answer' };
    readonly respondedAt: string;
    readonly via: string;
  })[];
}

/**
 * Describes how an approval ended, by whom and through which channel: `bob approved this 3 s ago via Slack.` An approval of an answer
 * lets nothing run, and says so. `channel`: what a channel is called there, printable.
 */
export function endedWords(approval: EndedApproval, nowMs: number, channel: (via: string) => string): string {
  const { state, resolvedAt } = approval;
  const when = resolvedAt === null ? '' : ` ${agoWords(resolvedAt, nowMs)}`;
  switch (state) {
    case 'approved':
    case 'denied':
      return decidedWords(approval, state, when, channel);
    case 'expired':
      return `It expired${when}.`;
    case 'cancelled':
      return `The call was cancelled${when}.`;
    case 'pending':
      return 'It waits for an answer.';
  }
}

function decidedWords(
  approval: EndedApproval,
  state: 'approved' | 'denied',
  when: string,
  channel: (via: string) => string,
): string {
  const last = lastVote(approval, state);
  const who = last === undefined ? undefined : responderWords(last);
  const tail = `${when}${last === undefined ? '' : ` via ${channel(last.via)}`}.`;
  const plain = who === undefined ? `This was ${state}` : `${who} ${state} this`;
  const { kind, replaces, proposedBy: by } = approval.proposal;
  if (state === 'denied' || replaces === null) return `${plain}${tail}`;
  const proposed = { by: nameWords(by), isOwn: last !== undefined && last.decision.type !== 'approve' };
  return kind === 'run'
    ? `${plain} with ${argumentWords(proposed)}${tail}`
    : `${answerWords(who, proposed)} in place of the tool${tail} The tool does not run.`;
}

/** Whose proposal it was, and whether the person who ended it made it. */
interface Proposed {
  readonly by: string;
  readonly isOwn: boolean;
}

function argumentWords({ by, isOwn }: Proposed): string {
  return isOwn ? 'other arguments' : `the arguments of ${by}`;
}

/** The vote that ended it. Silence approves, too, and a person may have voted before. */
function lastVote({ responses, resolvedAt }: EndedApproval, state: 'approved' | 'denied') {
  return responses.findLast(
    ({ decision: { type }, respondedAt }) => (type === 'deny') === (state === 'denied') && respondedAt === resolvedAt,
  );
}

function answerWords(who: string | undefined, { by, isOwn }: Proposed): string {
  if (who === undefined) return `The answer of ${by} was approved`;
  return isOwn ? `${who} answered` : `${who} approved the answer of ${by}`;
}
