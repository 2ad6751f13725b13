import { cardOf, pressesOf } from '@countersign/channels';
import type { Card, Notice, Press } from '@countersign/channels';
import { mayDecide } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import { parseApprovalId, toolCallStream } from '@countersign/contracts';
import type { ApprovalView } from '@countersign/contracts';
import type { ToolCall } from '@countersign/domain';
import { foldCall } from '@countersign/read-model';
import { nameWords } from '@countersign/text';
import type { GatewayPorts } from '../ports.js';

/** What the page behind a mail's link shows, and which buttons it has for its reader. */
export interface MailCard {
  readonly card: Card;
  /** The buttons that the server would take from this person now. */
  readonly presses: readonly Press[];
  /** The decisions that need a reason. */
  readonly reasonFor: readonly Press[];
  /** Approve is held, or confirmed. */
  readonly isHighRisk: boolean;
  /** What the button says that confirms an approval of high risk. */
  readonly confirms: string;
  /** How it stands for this person. */
  readonly words: string;
}

/** Larger than the arguments of any call can be. Only long single values are shortened, with a note. */
const charactersMax = 1_000_000;

/** Returns the card of a question for a person, with the rights that they have now. */
export async function mailCardOf(
  ports: Pick<GatewayPorts, 'clock' | 'commands' | 'store'>,
  actor: Actor,
  notice: Notice & { readonly approval: ApprovalView },
  isChanged: boolean,
): Promise<MailCard> {
  const { approval, together = [] } = notice;
  // The page has a field for the reason, and whoever is signed in has the assurance of their session.
  const limits = { hasReason: true, assurance: actor.assurance === 'low' ? 'low' : 'medium' } as const;
  const card = cardOf(notice, charactersMax, null, limits);
  const own = await rightOf(ports, actor, approval);
  const all = [own, ...(await Promise.all(together.map((one) => rightOf(ports, actor, one.approval))))];
  const isOpen = approval.state === 'pending' && own.now;
  const presses = isOpen ? pressesOf(notice, card.isWhole, limits) : [];
  // The link is one to what the mail showed. A denial of one call is bound to what the page shows.
  const taken = presses.filter((press) =>
    press === 'deny' ? !isChanged || together.length === 0 : !isChanged && all.every(({ now }) => now),
  );
  const questions = [approval, ...together.map((one) => one.approval)];
  return {
    card,
    presses: taken,
    reasonFor: taken.filter((press) =>
      (press === 'deny' ? [approval] : questions).some(({ requirement }) => requirement.requireReason.includes(press)),
    ),
    isHighRisk: questions.some(({ risk }) => risk === 'high'),
    confirms: `Approve ${nameWords(approval.toolName, 40)}`,
    words: wordsOf(approval, { isChanged, right: own, isForButtons: taken.length > 0 }),
  };
}

type Right = NonNullable<ApprovalView['mayDecide']>;

/** From the store itself: the page asks right after its own answer. */
async function rightOf(
  { clock, commands, store }: Pick<GatewayPorts, 'clock' | 'commands' | 'store'>,
  actor: Actor,
  { approvalId }: Pick<ApprovalView, 'approvalId'>,
): Promise<Right> {
  const { callId = '' } = parseApprovalId(approvalId) ?? {};
  const row = foldCall(await store.readStream(toolCallStream(callId)));
  if (row === undefined) return { now: false, why: 'unknown-approval', detail: 'There is no such approval.' };
  // The rules about people read nothing that the row leaves in the log.
  return mayDecide({ ...commands, clock }, actor, row as unknown as ToolCall, approvalId, row.unreadable);
}

function wordsOf(
  { state }: ApprovalView,
  {
    isChanged,
    right,
    isForButtons,
  }: { readonly isChanged: boolean; readonly right: Right; readonly isForButtons: boolean },
): string {
  if (state !== 'pending') return `It is ${state}.`;
  if (isChanged)
    return `It was changed since this mail: look at the inbox.${isForButtons ? ' Here you can deny it.' : ''}`;
  if (!right.now) {
    return right.why === 'already-voted'
      ? 'You have answered. It waits for others.'
      : `You can look, not decide. ${right.detail}`;
  }
  return isForButtons ? 'It is waiting for your answer.' : 'It is decided in the inbox, not here.';
}
