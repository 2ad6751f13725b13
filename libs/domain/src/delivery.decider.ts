import type { DeliveryEvent, NotificationKind } from '@countersign/contracts';
import { accepted, refused } from './decider.js';
import type { Decider } from './decider.js';

/** The identity of a message. The same values are the same message. */
export interface MessageKey {
  readonly channelId: string;
  readonly kind: NotificationKind;
  readonly nth: number;
  readonly recipient: string | null;
}

/** A key as text. */
export function keyText({ channelId, kind, nth, recipient }: MessageKey): string {
  return JSON.stringify([channelId, kind, nth, recipient]);
}

/** The recorded state of one message. */
export interface Delivery extends MessageKey {
  readonly status: 'claimed' | 'failed' | 'given-up' | 'delivered';
  readonly messageRef: string | null;
  /** The state that the copy shows; null without a copy. */
  readonly shows: string | null;
  /** Failed tries since the last success. */
  readonly attempts: number;
  readonly nextAttemptAt: string | null;
  readonly deliveredAt: string | null;
  readonly claim: { readonly notifierId: string; readonly leaseUntil: string } | null;
}

/** The messages about one approval, by their key as text. */
export type Deliveries = ReadonlyMap<string, Delivery>;

export type DeliveryCommand =
  | {
      readonly type: 'Claim';
      readonly event: Extract<DeliveryEvent, { type: 'NotificationClaimed' }>;
      readonly at: string;
    }
  | { readonly type: 'Record'; readonly event: DeliveryEvent };

/** The decider of the streams `delivery-…`: who may send, and what was sent. */
export const deliveryDecider: Decider<Deliveries, DeliveryCommand, DeliveryEvent> = {
  initialState: () => new Map(),
  decide: (command, state) => {
    if (command.type === 'Record') return accepted(command.event);
    const { data } = command.event;
    const claim = state.get(keyText(data))?.claim ?? null;
    const isTaken = claim !== null && claim.notifierId !== data.notifierId && claim.leaseUntil > command.at;
    return isTaken ? refused('already-claimed', `${claim.notifierId} is sending it`) : accepted(command.event);
  },
  evolve: (state, event) => {
    if (event.type === 'ChannelActivated' || event.type === 'ChannelSwitchedOff') return state;
    const key = keyText(event.data);
    return new Map(state).set(key, after(state.get(key), event));
  },
  // A copy may need updates as long as the approval exists.
  isTerminal: () => false,
};

type MessageEvent = Exclude<DeliveryEvent, { type: 'ChannelActivated' | 'ChannelSwitchedOff' }>;

function after(before: Delivery | undefined, event: MessageEvent): Delivery {
  const { channelId, kind, nth, recipient } = event.data;
  const known = before ?? {
    ...{ channelId, kind, nth, recipient },
    ...({
      status: 'claimed',
      messageRef: null,
      shows: null,
      attempts: 0,
      nextAttemptAt: null,
      deliveredAt: null,
      claim: null,
    } as const),
  };
  switch (event.type) {
    case 'NotificationClaimed':
      return { ...known, claim: { notifierId: event.data.notifierId, leaseUntil: event.data.leaseUntil } };
    case 'NotificationDelivered': {
      const { messageRef, shows, deliveredAt } = event.data;
      const settled = { attempts: 0, nextAttemptAt: null, claim: null };
      return { ...known, ...settled, status: 'delivered', messageRef, shows, deliveredAt };
    }
    case 'NotificationUpdated': {
      const { messageRef, shows } = event.data;
      return { ...known, status: 'delivered', messageRef, shows, attempts: 0, nextAttemptAt: null, claim: null };
    }
    case 'NotificationFailed': {
      const { attempt, nextAttemptAt } = event.data;
      // A copy that could not be changed is still there.
      const status = known.messageRef !== null ? 'delivered' : nextAttemptAt === null ? 'given-up' : 'failed';
      const gaveUp = nextAttemptAt === null ? { attempts: 0 } : { attempts: attempt };
      return { ...known, status, ...gaveUp, nextAttemptAt, claim: null };
    }
  }
}
