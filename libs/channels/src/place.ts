import type { Located, Notice } from './channel.js';
import type { Person } from './config/channels-file.js';

/** Where a channel writes to: one place for all calls, or the one of `allow` that a label of the call names. */
export type Place = string | LabelledPlace;

/** Agents set the labels of their calls, so only what the operator lists counts. */
export interface LabelledPlace {
  readonly label: string;
  readonly allow: readonly string[];
}

/**
 * Returns the place of a message. Without one it is not sent: it never falls back to another place. The reason does not repeat
 * the value of the label, which may be erased later.
 */
export function locate(place: Place, notice: Pick<Notice, 'approval' | 'labels'>): Located {
  if (typeof place === 'string') return { status: 'known', place };
  const named = labelOf(notice, place.label);
  if (named === undefined) return nowhere(`the call has no label "${place.label}"`);
  if (!place.allow.includes(named))
    return nowhere(`the label "${place.label}" names a place that "allow" does not list`);
  return { status: 'known', place: named };
}

/** Returns the value of a label of the call. */
export function labelOf({ labels, approval }: Pick<Notice, 'approval' | 'labels'>, name: string): string | undefined {
  const all = labels ?? approval?.labels ?? {};
  return Object.hasOwn(all, name) ? all[name] : undefined;
}

/** Returns whether a channel still writes to a place. */
export function isPlaceOf(place: Place, given: string): boolean {
  return typeof place === 'string' ? place === given : place.allow.includes(given);
}

/** Returns whether a mailbox is that of a person. */
export function isSameMailbox(mailbox: string, person: Pick<Person, 'email'> | null): boolean {
  return person?.email?.trim().toLowerCase() === mailbox.toLowerCase();
}

function nowhere(what: string): Located {
  return { status: 'nowhere', reason: `not sent: ${what}` };
}

/** For a press on a message that is not the card of what its button is about, or in a place that no longer counts. */
export const elsewhereWords =
  'This is not the message that was sent for this request. Nothing was decided: press the newer one, or answer in the inbox.';

/** For a person whom the channel knows, in a chat that is not one of it. */
export const otherChatWords = 'Requests are not answered in this chat. Nothing was decided: answer in the inbox.';

/** The same, for the log. */
export const elsewhereLogWords = 'refused: a press on a message that is not the card of its approval';

/** What is left of a card in a place that the channels file no longer allows. */
export const withdrawnWords = 'This request is no longer shown here.';
