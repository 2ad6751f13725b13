import type { BrokenChannel, Channel, ChannelsConfig, PeopleNow } from '@countersign/channels';
import type { EventView } from '@countersign/contracts';
import type { EventStore } from '@countersign/event-store';
import type { ReadModel } from '@countersign/read-model';
import type { Clock, Ids, Log } from '@countersign/runtime';
import type { Tracing } from '@countersign/shell';
import type { GivenUp } from './channel-health.js';
import type { CallSource } from './notice.js';

export interface NotifierOptions extends Pick<CallSource, 'votesNow'> {
  readonly store: EventStore;
  /** The pending approvals. With them later messages survive a restart, and several notifiers replace each other. */
  readonly readModel?: Pick<ReadModel, 'listApprovals' | 'onApplied' | 'places'>;
  readonly channels: readonly Channel[];
  /** The channels that are off, because their secrets cannot be used. Default: none. */
  readonly broken?: readonly BrokenChannel[];
  readonly people: PeopleNow;
  readonly routes: ChannelsConfig['routes'];
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** The tenant whose approvals are sent. Default: `default`. */
  readonly tenant?: string;
  /** Names this process when several notifiers share the work; undefined: it is the only one. */
  readonly notifierId?: string;
  /** Makes a span of each message. */
  readonly tracing?: Pick<Tracing, 'inSpan'> | undefined;
}

/** Sends messages through channels. */
export interface Notifier {
  readonly channelIds: readonly string[];
  /**
   * Handles an event for one channel: sends a card, updates its copies, or sends an outcome. Resolves when that is
   * recorded, or when a retry is planned. An event is a hint: the content comes from the event store.
   * @throws when the event must be delivered again.
   */
  readonly handle: (channelId: string, event: EventView, signal?: AbortSignal) => Promise<void>;
  /** Plans what is due later out of what is recorded. */
  readonly start: () => void;
  readonly status: () => NotifierStatus;
  /** Sends no more; what is being sent is recorded. */
  readonly stop: () => Promise<void>;
}

export interface NotifierStatus {
  /** By channel id. */
  readonly channels: Readonly<Record<string, ChannelStatus>>;
  /** The messages that are due later. */
  readonly planned: number;
  /** Outcomes that the person behind a request did not hear of, because the channels file has no address of theirs. */
  readonly untold: number;
  /** Why the messages whose retry was announced before the start are not planned yet; undefined: they are. */
  readonly notRecovered: string | undefined;
}

/** The state of a channel. */
export interface ChannelStatus {
  readonly state: 'ok' | 'failing' | 'off';
  /** Messages that wait for their turn. */
  readonly waiting: number;
  readonly reason: string | null;
  readonly givenUp: GivenUp;
}
