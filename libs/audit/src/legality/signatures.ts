import type { ApprovalState, CallState } from './call-state.js';
import { illegal, isSealedAt } from './judged-event.js';
import type { Illegal, JudgedEvent, Unproven } from './judged-event.js';
import { brokenBy } from './passkeys.js';
import { digestOfProposal } from './proposal.js';
import type { Response } from './proposal.js';
import { cardDigest } from './shown-card.js';
import type { KnownStreams } from './streams.js';

/** A signed response in its context: `asked` is the approval that its person saw. */
interface Signed {
  readonly call: CallState;
  readonly asked: ApprovalState;
  /** The same without the votes that the response ends. */
  readonly counted: ApprovalState;
  readonly response: Response;
  readonly streams: KnownStreams;
}

/** The judge's word about one signature. */
interface JudgedSignature {
  readonly illegal: Illegal | undefined;
  readonly unproven: readonly Unproven[];
}

/**
 * Judges the signature of a response: made with a passkey of its person that counts, over this proposal, this card, this decision
 * and this instruction, with a nonce that is new in the call. What cannot be computed because it is sealed was not signed.
 */
export function judgeSignature(
  event: JudgedEvent,
  signature: NonNullable<Response['signature']>,
  { call, asked, counted, response, streams }: Signed,
): JudgedSignature {
  const { displayDigest, nonce } = signature;
  if (call.nonces.includes(nonce)) return no('its nonce was used before');
  const proposalDigest = digestOfProposal(asked, call.request.salt);
  if (proposalDigest === null || isHiddenDecision(event)) return no('it signs values that are hidden');
  const passkeys = streams.get(`passkeys-${event.metadata.tenant}`)?.state;
  // Not shown, or not readable: whether the passkey is one of the person cannot be said.
  if (passkeys?.kind === 'set-aside') return { illegal: undefined, unproven: ['leans-on-set-aside'] };
  const { instruction, respondedBy } = response;
  const signed = { proposalDigest, displayDigest, decision: decisionOf(response), instruction, nonce };
  const keys = passkeys?.kind === 'passkeys' ? passkeys.keys : {};
  const broken = brokenBy(respondedBy, signature, signed, keys);
  // A vote that ends with the response may be known to be lost before, and the card names its instruction no more.
  const cards = [asked, counted].map((approval) => cardDigest(approval, call, proposalDigest));
  return broken === undefined ? judgeCard(cards, displayDigest) : no(broken);
}

function judgeCard(cards: readonly (string | null)[], shown: string): JudgedSignature {
  if (cards.includes(null)) return { illegal: undefined, unproven: ['hidden-card'] };
  return cards.includes(shown)
    ? { illegal: undefined, unproven: [] }
    : no('the person signed another card than the one of this approval');
}

function no(detail: string): JudgedSignature {
  return { illegal: illegal('signature', detail), unproven: [] };
}

function isHiddenDecision(event: JudgedEvent): boolean {
  return ['/decision/arguments', '/decision/output', '/decision/salt'].some((pointer) => isSealedAt(event, pointer));
}

function decisionOf({ decision }: Response): unknown {
  if (decision.type === 'edit') return { type: 'edit', arguments: decision.arguments };
  return decision.type === 'answer' ? { type: 'answer', output: decision.output } : decision;
}
