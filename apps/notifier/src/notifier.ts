import type { BrokenChannel, Channel } from '@countersign/channels';
import type { EventView } from '@countersign/contracts';
import { keyText } from '@countersign/domain';
import type { Approval, MessageKey } from '@countersign/domain';
import { isStoreOutage } from '@countersign/event-store';
import type { SubscribeOptions } from '@countersign/message-bus';
import type { CallRow } from '@countersign/read-model';
import { sleep } from '@countersign/runtime';
import { TimerQueue, type TimerEntry } from './timer-queue.js';
import { Backlog } from './backlog.js';
import { ChannelWorker, NotifierStoppedError } from './channel-worker.js';
import type { Job } from './planned-message.js';
import { createDeliveryLog, type DeliveryLog } from './delivery-log.js';
import { copyKeys } from './copy-keys.js';
import { approvalOf, readCall } from './notice.js';
import type { ChannelStatus, Notifier, NotifierOptions, NotifierStatus } from './notifier-port.js';
import { askingFor } from './step-question.js';
import { newsAgeMsMax } from './retry-schedule.js';
import { findFailedDeliveries, retryOf } from './failed-deliveries.js';
import { sweepPending } from './sweep-pending.js';
import { immediateMessages, isAnnounced, outcomesOf, questionMessages, untoldRequesters } from './wanted-messages.js';

/** Returns whether `handle` failed for a reason outside the event: the event is delivered again and never parked. */
export const isTransientFailure: NonNullable<SubscribeOptions['isTransient']> = (error) =>
  isStoreOutage(error) || error instanceof NotifierStoppedError;

/** The number of approvals in one email. */
const mailTogetherMax = 50;
/** After a start, the approvals of a digest that is overdue are found within this time. */
const digestTogether = { gatherMs: 2_000, togetherMax: 200 };

/** The pause before the log is read again for failed deliveries. */
const recoverAgainMs = 5_000;
/** How long a message that is being sent at shutdown may take to be recorded. */
const drainMs = 4_000;

interface Entry extends TimerEntry {
  readonly job: Job;
}

/** Returns whether others may be asked after an event. An answer that fills a stage asks the people of the next one. */
function isAskedAfter({ type }: EventView, { addressing }: Channel): boolean {
  if (type === 'ApprovalResponded') return addressing === 'personal';
  return type === 'ApprovalRequested' || type === 'ApprovalEscalated';
}

function offOf({ id, reason }: BrokenChannel): readonly [string, ChannelStatus] {
  return [id, { state: 'off', waiting: 0, reason, givenUp: { message: 0, recipient: 0, channel: 0 } }];
}

class ChannelNotifier implements Notifier {
  readonly #options: NotifierOptions;
  readonly #deliveries: DeliveryLog;
  readonly #lanes = new Map<string, ChannelWorker>();
  readonly #backlogs = new Map<string, Backlog>();
  readonly #digests = new Map<string, Backlog>();
  readonly #agenda: TimerQueue<Entry>;
  readonly #activations = new Map<string, Promise<number>>();
  readonly #stopping = new AbortController();
  #untold = 0;
  #notRecovered: string | undefined;
  #background: Promise<unknown> = Promise.resolve();
  #stopListening = (): void => undefined;

  constructor(options: NotifierOptions) {
    const { channels, clock, ids, log, store, votesNow, notifierId, people, routes, tracing } = options;
    this.#options = options;
    this.#deliveries = createDeliveryLog({ store, clock, ids, log, notifierId });
    this.#agenda = new TimerQueue(clock, (due) => this.#onDue(due));
    for (const channel of channels) {
      const later = (job: Job, dueAtMs: number): void => this.#plan(job, dueAtMs);
      const ports = { store, votesNow, deliveries: this.#deliveries, people, routes, clock, log, tracing, later };
      const lane = new ChannelWorker(channel, { ...ports, tenant: this.#tenant });
      this.#lanes.set(channel.id, lane);
      const { signal } = this.#stopping;
      const alone = { gatherMs: channel.gatherMs, togetherMax: channel.gatherMs === 0 ? 1 : mailTogetherMax };
      this.#backlogs.set(channel.id, new Backlog(lane, { clock, log, signal, ...alone }));
      this.#digests.set(channel.id, new Backlog(lane, { clock, log, signal, ...digestTogether }));
    }
  }

  get #tenant(): string {
    return this.#options.tenant ?? 'default';
  }

  get channelIds(): readonly string[] {
    return [...this.#lanes.keys()];
  }

  readonly handle = async (channelId: string, event: EventView, given?: AbortSignal): Promise<void> => {
    const lane = this.#lanes.get(channelId);
    const call = await this.#callOf(event);
    if (lane === undefined || call === undefined) return;
    const signal = given === undefined ? this.#stopping.signal : AbortSignal.any([given, this.#stopping.signal]);
    const named = event.data['approvalId'];
    const approvalId = typeof named === 'string' ? named : (call.approvals.at(-1)?.approvalId ?? null);
    const { callId } = call.request;
    const keys = await this.#keysAfter(event, call, approvalOf(call, approvalId), lane.channel);
    for (const key of keys) await lane.sync([{ callId, approvalId, key, dueAtMs: null }], signal);
    await this.#syncStep(event, call, approvalOf(call, approvalId), lane, signal);
  };

  /** The message that asks about the whole step of a call: it shows this call as well, or asks now in its place. */
  async #syncStep(
    event: EventView,
    call: CallRow,
    approval: Approval | null,
    lane: ChannelWorker,
    signal: AbortSignal,
  ): Promise<void> {
    for (const asking of await askingFor(call, approval, lane.channel, this.#options)) {
      const { callId } = asking.call.request;
      const { approvalId } = asking.approval;
      const keys = [
        ...this.#dueQuestions(asking.call, asking.approval, lane.channel),
        ...(await copyKeys(this.#deliveries, event, asking.call, asking.approval, lane.channel)),
      ].filter(({ kind }) => kind === 'requested' || kind === 'reminder');
      for (const key of keys) await lane.sync([{ callId, approvalId, key, dueAtMs: null }], signal);
    }
  }

  readonly start = (): void => {
    const { readModel } = this.#options;
    const { signal } = this.#stopping;
    // Starts now and not at the first recorded outcome, which would be old news.
    for (const id of this.channelIds) void this.#activatedAt(id).catch(() => undefined);
    // State that cannot be read now is read before the first message.
    for (const lane of this.#lanes.values()) void lane.open().catch(() => undefined);
    const plan = (job: Job, dueAtMs: number): void => this.#plan(job, dueAtMs);
    this.#stopListening =
      readModel?.onApplied(({ events }) => {
        // A message that another notifier failed to deliver is retried by the first one that finds it.
        for (const event of events) {
          const retry = retryOf(event);
          if (retry !== undefined) plan(retry.job, retry.dueAtMs);
        }
      }) ?? this.#stopListening;
    const recovering = this.#recover(plan);
    const sweeping = readModel === undefined ? undefined : sweepPending({ ...this.#options, readModel }, signal, plan);
    this.#background = Promise.all([recovering, sweeping]);
  };

  /** Plans the failed deliveries of before the start. Repeated until the log could be read. */
  async #recover(plan: (job: Job, dueAtMs: number) => void): Promise<void> {
    const { store, readModel, log, clock } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await findFailedDeliveries(store, { clock, signal, plan, places: readModel?.places });
        this.#notRecovered = undefined;
        return;
      } catch (error) {
        this.#notRecovered = error instanceof Error ? error.message : String(error);
        log.warn({ error }, 'earlier failures cannot be read from the log now; retrying');
        await sleep(clock, recoverAgainMs, signal);
      }
    }
  }

  readonly status = (): NotifierStatus => {
    const channels = [...this.#lanes].map(([id, lane]) => {
      const status = lane.status();
      return [id, { ...status, waiting: status.waiting + this.#dueOf(id) }] as const;
    });
    return {
      channels: Object.fromEntries([...channels, ...(this.#options.broken ?? []).map(offOf)]),
      planned: this.#agenda.size,
      untold: this.#untold,
      notRecovered: this.#notRecovered,
    };
  };

  #dueOf(channelId: string): number {
    return [this.#backlogs, this.#digests].reduce((sum, of) => sum + (of.get(channelId)?.waiting ?? 0), 0);
  }

  readonly stop = async (): Promise<void> => {
    this.#stopListening();
    this.#agenda.clear();
    this.#stopping.abort(new NotifierStoppedError('the notifier stops'));
    const drained = new AbortController();
    const backlogs = [...this.#backlogs.values(), ...this.#digests.values()];
    const ended = Promise.all([this.#background, ...backlogs.map((one) => one.stop())]);
    await Promise.race([ended, sleep(this.#options.clock, drainMs, drained.signal)]);
    drained.abort();
  };

  async #callOf({ callId, tenant }: EventView): Promise<CallRow | undefined> {
    return callId === null || tenant !== this.#tenant ? undefined : readCall(this.#options, tenant, callId);
  }

  /** Every message of a channel that an event may require. Those that are up to date are skipped later. */
  async #keysAfter(
    event: EventView,
    call: CallRow,
    approval: Approval | null,
    channel: Channel,
  ): Promise<readonly MessageKey[]> {
    const keys = [
      ...this.#questionKeys(event, call, approval, channel),
      ...((await this.#isNews(event, channel)) ? this.#immediateKeys(event, call, approval, channel) : []),
      ...(await copyKeys(this.#deliveries, event, call, approval, channel)),
    ];
    return [...new Map(keys.map((key) => [keyText(key), key])).values()];
  }

  #immediateKeys(event: EventView, call: CallRow, approval: Approval | null, channel: Channel): readonly MessageKey[] {
    this.#untold += untoldRequesters(event, call, approval, channel, this.#options);
    const keys = immediateMessages(event, call, approval, channel, this.#options);
    const isFirst = keys.some(({ kind }) => kind !== 'reminder') && isAnnounced(call, approval, channel, this.#options);
    return isFirst ? [{ channelId: channel.id, kind: 'requested', nth: 0, recipient: null }, ...keys] : keys;
  }

  #questionKeys(event: EventView, call: CallRow, approval: Approval | null, channel: Channel): readonly MessageKey[] {
    if (!isAskedAfter(event, channel)) return [];
    return approval?.resolution.status === 'pending' ? this.#dueQuestions(call, approval, channel) : [];
  }

  /** The messages that ask now. Later ones are planned. */
  #dueQuestions(call: CallRow, approval: Approval, channel: Channel): readonly MessageKey[] {
    const now = this.#options.clock.now();
    const { callId } = call.request;
    const { approvalId } = approval;
    return questionMessages(call, approval, channel, this.#options, now).flatMap(({ key, dueAtMs }) => {
      // A reminder that is due already is judged by its time: whoever is asked only now is not reminded of it.
      if (dueAtMs <= now && channel.gatherMs === 0 && key.kind === 'requested') return [key];
      this.#plan({ callId, approvalId, key, dueAtMs }, dueAtMs);
      return [];
    });
  }

  /** Outcomes from before the channel existed, or from long ago, are not sent. */
  async #isNews(event: EventView, { id }: Channel): Promise<boolean> {
    if (outcomesOf(event).length === 0) return true;
    if (this.#options.clock.now() - Date.parse(event.recordedAt) > newsAgeMsMax) return false;
    return event.position > (await this.#activatedAt(id));
  }

  #activatedAt(channelId: string): Promise<number> {
    const known = this.#activations.get(channelId);
    if (known !== undefined) return known;
    const asked = this.#deliveries.activatedAt(this.#tenant, channelId);
    this.#activations.set(channelId, asked);
    // State that could not be read is read again at the next event.
    asked.catch(() => this.#activations.delete(channelId));
    return asked;
  }

  #plan(job: Job, dueAtMs: number): void {
    if (this.#stopping.signal.aborted || !this.#lanes.has(job.key.channelId)) return;
    this.#agenda.add({ id: `${job.approvalId ?? job.callId}${keyText(job.key)}`, dueAtMs, job });
  }

  #onDue(due: readonly Entry[]): void {
    // All notifiers use the same order, so the first one to claim sends the whole digest.
    for (const { job } of due.toSorted((one, other) => (one.id < other.id ? -1 : 1))) {
      const backlogs = job.key.kind === 'digest' ? this.#digests : this.#backlogs;
      backlogs.get(job.key.channelId)?.add([job]);
    }
  }
}

/**
 * A notifier over its ports. It consumes nothing by itself: call `start`, then pass events to it, as
 * `createNotifierApp` does.
 */
export function createNotifier(options: NotifierOptions): Notifier {
  return new ChannelNotifier(options);
}
