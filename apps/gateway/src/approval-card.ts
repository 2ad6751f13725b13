import { renderCard } from '@countersign/channels';
import type { Actor } from '@countersign/commands';
import type { CardQuery } from '@countersign/contracts';
import { toToolCallView } from '@countersign/read-model';
import { ok, refused } from './answer.js';
import type { Answer } from './answer.js';
import type { GatewayPorts } from './ports.js';
import { viewsFor } from './views-for.js';
import { maySee } from './visibility.js';

/** The form of a card, and where its link leads. */
export interface WantedCard extends CardQuery {
  readonly publicUrl: URL | undefined;
}

const passOn =
  'Send `card` with your own bot, and keep `presses` with the message. When a person whom you know presses a button of that message, send `request` of the press with this value to `POST /v1/approvals/{approvalId}/responses`, in the name of that person. Refuse a value that you did not send there. After `digest-mismatch` read the card again, show it in place of the old one, and decide nothing; after a response show the card as it is then.';

/**
 * Returns an approval as the card that a channel of ours would send: the same content, marks and hidden values. Its presses name
 * what it shows, so a response to an older card is refused.
 */
export function readCard(
  ports: GatewayPorts,
  actor: Actor,
  approvalId: string,
  { format = 'text', publicUrl }: WantedCard,
): Answer {
  const row = ports.readModel.approval(actor.tenant, approvalId);
  if (row === undefined || !maySee(actor, row.call))
    return refused({ code: 'unknown-approval', detail: `there is no approval ${approvalId}` });
  // Masked for everybody, also for the agent whose call it is: a card is shown in a chat.
  const views = viewsFor(ports, actor);
  const approval = views.masked(row);
  const call = toToolCallView(row.call, 'masked');
  const mayDecide = views.mayDecide(row);
  const { state, actionDigest, shownDigest, proposal, allowedDecisions } = approval;
  const rendered = renderCard({ call, approval }, format, publicUrl?.href ?? null);
  return ok({
    ...{ approvalId, format, state, actionDigest, proposalDigest: proposal.digest, shownDigest, allowedDecisions },
    mayDecide,
    ...rendered,
    passOn,
  });
}
