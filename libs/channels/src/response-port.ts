import type { Assurance } from '@countersign/contracts';
import { nameWords, printable, timeWords } from '@countersign/text';
import type { Notice } from './channel.js';
import type { Person } from './config/channels-file.js';

/** A person's response through a channel, with the person verified. */
export interface ChannelAnswer {
  readonly approvalId: string;
  /** The digest of what was shown to the person: the proposal and its instructions. */
  readonly shownDigest: string;
  /** What a denial of one call is bound to in place of `shownDigest`, since it only restricts. */
  readonly proposalDigest?: string;
  readonly person: Person;
  readonly channelId: string;
  /** How the vendor knows the person: `slack:`, `telegram:`, `teams:` or `mail:`, and their id there. */
  readonly credential: string;
  /** The SHA-256 of the id of their session here. Absent: the channel needs none. */
  readonly session?: string;
  readonly assurance: Assurance;
  /** The same for a repeat of the same press. */
  readonly commandId: string;
  readonly decision:
    | { readonly type: 'approve' | 'deny' }
    | {
        readonly type: 'edit';
        /** JSON as the person wrote it. */
        readonly argumentsText: string;
      };
  readonly reason?: string;
}

/** The result of a response. */
export type AnswerResult =
  | {
      readonly status: 'recorded';
      /** More people must answer before it is decided. */
      readonly isWaiting?: true;
    }
  | {
      readonly status: 'refused';
      readonly code: string;
      readonly detail: string;
      /** The winning response, if another person was first. */
      readonly winner?: {
        readonly respondedBy: string;
        readonly respondedAt: string;
        readonly via: string;
        readonly resolution: string;
      };
    };

/** The target of responses of every channel. It knows the rules; the channel knows the person. */
export interface ResponsePort {
  /** The question as the event store has it now, masked. */
  readonly find: (approvalId: string) => Promise<Pick<Notice, 'call' | 'approval' | 'together'> | undefined>;
  readonly answer: (answer: ChannelAnswer) => Promise<AnswerResult>;
  /** The copies of its cards that a channel has sent for an approval, by their `messageRef`. Absent: none is known. */
  readonly copies?: (approvalId: string, channelId: string) => Promise<readonly string[]>;
}

/** For a person who pressed an inactive button. */
export const expiredWords = 'This approval request has expired.';

/** For a press whose value was made for no approval of this installation, such as one that was damaged on its way. */
export const damagedWords =
  'This approval request has expired, or its button is damaged. Nothing was decided: look at it in the inbox.';

/** For a person who is not in the channels file. */
export const strangerWords = 'You are not known here: ask an administrator to add you. Nothing was decided.';

/** For a press whose button and value say different things. */
export const disagreeWords = 'This button and its value disagree. Nothing was decided: look again.';

/** For a response that could not be recorded. */
export const unableWords = 'Countersign cannot decide at the moment: try again.';

/** For a press that the vendor delivers again after its response was withdrawn. */
const usedWords = 'This press was used before, and its answer does not stand: press again to answer.';

const withdrawWords = 'Answers are withdrawn in the inbox.';

/** The text for the person, at most 190 characters. */
export function answerWords(result: AnswerResult, decision: string): string {
  return result.status === 'recorded' ? recordedWords(result, decision) : refusedWords(result);
}

function recordedWords({ isWaiting }: Extract<AnswerResult, { status: 'recorded' }>, decision: string): string {
  if (isWaiting === true) return 'Recorded: it waits for others.';
  return decision === 'deny' ? 'Denied.' : 'Approved.';
}

function refusedWords(result: Extract<AnswerResult, { status: 'refused' }>): string {
  const { code, detail, winner } = result;
  if (code === 'unknown-approval') return expiredWords;
  if (code === 'expired') return `${expiredWords} If people were asked again, the newer card counts.`;
  if (winner !== undefined) {
    const who = nameWords(winner.respondedBy, 60);
    return `Already ${winner.resolution} by ${who} via ${printable(winner.via, 40)}, ${timeWords(winner.respondedAt)}.`;
  }
  if (code === 'already-resolved') return printable(`${detail} Nothing is left to answer.`, 160);
  if (code === 'digest-mismatch') return 'It was changed since you looked: look again. Nothing was decided.';
  if (code === 'idempotency-key-reused') return usedWords;
  if (code === 'already-voted') return `Not recorded: ${printable(detail, 110)} ${withdrawWords}`;
  return printable(`Not recorded: ${detail}`, 160);
}
