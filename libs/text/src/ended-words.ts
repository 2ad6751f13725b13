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
  { proposal, responses, resolvedAt }: EndedApproval,
  state: 'approved' | 'denied',
  when: string,
  channel: (via: string) => string,
): string {
  // Silence approves, too, and a person may have voted before.
  const last = responses.findLast(
    ({ decision: { type }, respondedAt }) => (type === 'deny') === (state === 'denied') && respondedAt === resolvedAt,
  );
  const who = last === undefined ? undefined : responderWords(last);
  const tail = `${when}${last === undefined ? '' : ` via ${channel(last.via)}`}.`;
  const plain = who === undefined ? `This was ${state}` : `${who} ${state} this`;
  const { kind, replaces, proposedBy } = proposal;
  if (state === 'denied' || replaces === null) return `${plain}${tail}`;
  const other = nameWords(proposedBy);
  if (kind === 'run') {
    return `${plain} with ${last?.decision.type === 'edit' ? 'other arguments' : `the arguments of ${other}`}${tail}`;
  }
  const answered = last?.decision.type === 'answer' ? 'answered' : `approved the answer of ${other}`;
  const words = who === undefined ? `The answer of ${other} was approved` : `${who} ${answered}`;
  return `${words} in place of the tool${tail} The tool does not run.`;
}
