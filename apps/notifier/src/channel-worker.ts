import type { Channel, ChannelsConfig, Notice, PeopleNow, SendResult } from '@countersign/channels';
import type { DeliveryEvent } from '@countersign/contracts';
import { crashPoint, sleep } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import type { Tracing } from '@countersign/shell';
import { ChannelHealth } from './channel-health.js';
import type { CallSource } from './notice.js';
import type { ChannelStatus } from './notifier-port.js';
import { planMessage, toEvent } from './planned-message.js';
import type { PlannedMessage, Job } from './planned-message.js';
import { dataOf, leaseMs, timeOf } from './delivery-log.js';
import type { DeliveryLog } from './delivery-log.js';
import { hasFailedBefore, hasNamedWait, isRefusedTogether } from './failure.js';
import type { Failure, FailureTimes } from './failure.js';
import { pauseAfter } from './retry-schedule.js';
import { sendInSpan } from './send-in-span.js';

export interface ChannelWorkerPorts extends CallSource {
  readonly deliveries: DeliveryLog;
  readonly people: PeopleNow;
  readonly routes: ChannelsConfig['routes'];
  /** Only for the approvals of its calls. */
  readonly tenant: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly tracing: Pick<Tracing, 'inSpan'> | undefined;
  /** Tries a message again at a time. */
  readonly later: (job: Job, dueAtMs: number) => void;
}

/** The notifier accepts no more events. The next process does. */
export class NotifierStoppedError extends Error {
  override readonly name = 'NotifierStoppedError';
}

/**
 * After this many failed tries in a row a message steps aside, so that one which the other side never takes holds up no
 * other. When the next message fails too, the channel may be down: then those that stepped aside are tried in turn, each
 * once, with the pause of the channel, and the log is not filled with their tries.
 */
const triesMax = 3;

/** How long after an earlier message its successor is looked at. */
const postponedMs = 1_000;
const postponedWords = 'it waits for an earlier message about the same approval';

/**
 * Sends all messages of one channel: one at a time, each recorded before the next, so a crash repeats at most one. A
 * failing channel is retried with growing pauses, and no message is lost.
 */
export class ChannelWorker {
  readonly channel: Channel;
  readonly #ports: ChannelWorkerPorts;
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  readonly #health: ChannelHealth;
  #hasParked = false;
  #pausedUntil = 0;
  #isOpened = false;

  constructor(channel: Channel, ports: ChannelWorkerPorts) {
    this.channel = channel;
    this.#ports = ports;
    this.#health = new ChannelHealth(channel.id, ports.log);
  }

  status(): ChannelStatus {
    const { state, reason, givenUp } = this.#health;
    return { state, waiting: this.#waiting, reason, givenUp };
  }

  /** Learns whether the other side has switched this channel off. */
  async open(): Promise<void> {
    if (this.#isOpened) return;
    const { id, endpoint = '' } = this.channel;
    const why = await this.#ports.deliveries.whyOff(id, endpoint);
    this.#isOpened = true;
    if (why !== null) this.#health.switchedOff(why);
  }

  /**
   * Brings the messages up to date, as one message where they are combined. Resolves when that is recorded, or when a
   * retry is planned.
   * @throws NotifierStoppedError, or the event store's error; a retry loses nothing.
   */
  sync(jobs: readonly Job[], signal: AbortSignal): Promise<void> {
    this.#waiting += 1;
    const done = this.#turn.then(() => this.#run(jobs, signal)).finally(() => (this.#waiting -= 1));
    this.#turn = done.catch(() => undefined);
    return done;
  }

  async #run(jobs: readonly Job[], signal: AbortSignal): Promise<void> {
    await this.open();
    let left = jobs;
    let failure: Failure = { tries: 1, isFirst: true };
    let isApart = false;
    while (left.length > 0 && this.#health.state !== 'off') {
      await this.#pause(signal);
      const actions = await this.#lookAt(left, signal);
      const [first] = actions;
      if (first === undefined) return;
      // Combined messages are sent together; existing copies are updated one by one.
      const batch = actions.filter(({ messageRef }) => messageRef === undefined);
      const together = first.messageRef === undefined && !isApart ? batch : [first];
      const result = await sendInSpan(together, { channelId: this.channel.id, tracing: this.#ports.tracing }, () =>
        this.#act(together as [PlannedMessage, ...PlannedMessage[]], signal),
      );
      if (isRefusedTogether(together, result)) {
        isApart = true;
      } else if (await this.#isOver(together, result, failure, signal)) {
        left = actions.filter((action) => !together.includes(action)).map(({ job }) => job);
        failure = { tries: 1, isFirst: true };
      } else {
        failure = { tries: failure.tries + (hasNamedWait(result) ? 0 : 1), isFirst: false };
      }
    }
  }

  async #pause(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ports;
    const leftMs = this.#pausedUntil - clock.monotonic();
    if (leftMs > 0) await sleep(clock, leftMs, signal);
    if (signal.aborted) throw new NotifierStoppedError('the notifier stops');
  }

  async #lookAt(jobs: readonly Job[], signal: AbortSignal): Promise<readonly PlannedMessage[]> {
    const actions: PlannedMessage[] = [];
    for (const job of jobs) {
      const action = await planMessage(job, this.channel, this.#ports);
      if (action === undefined || this.#isEarly(action) || (await this.#isPostponed(action, signal))) continue;
      if (await this.#claim(action)) actions.push(action);
      // Another notifier is sending this digest. If both sent a part, people would get two messages.
      else if (job.key.kind === 'digest' && actions.length === 0) return this.#leave(jobs);
    }
    return actions;
  }

  #leave(jobs: readonly Job[]): readonly [] {
    for (const job of jobs) this.#ports.later(job, this.#ports.clock.now() + leaseMs);
    return [];
  }

  /** A retry that was planned before a later failure moved it. */
  #isEarly({ job, before }: PlannedMessage): boolean {
    const nextMs = Date.parse(before?.nextAttemptAt ?? '');
    if (job.isRetry !== true || !(nextMs > this.#ports.clock.now())) return false;
    this.#ports.later(job, nextMs);
    return true;
  }

  /** Lets an earlier message about the same approval go first. It is recorded once, so that a restart loses nothing. */
  async #isPostponed(action: PlannedMessage, signal: AbortSignal): Promise<boolean> {
    const { job, subject, before, waitsUntilMs } = action;
    if (waitsUntilMs === null) return false;
    const now = this.#ports.clock.now();
    const dueAtMs = Math.max(waitsUntilMs, now) + postponedMs;
    if (before?.status !== 'failed') {
      const times = { nextAttemptAt: timeOf(dueAtMs), failedAt: timeOf(now) };
      const data = { ...dataOf(subject, job.key), attempt: 1, reason: postponedWords, ...times };
      await this.#record(action, { type: 'NotificationFailed', data }, signal);
    }
    this.#ports.later({ ...job, isRetry: true }, dueAtMs);
    return true;
  }

  async #claim({ subject, job }: PlannedMessage): Promise<boolean> {
    if (await this.#ports.deliveries.claim(subject, job.key, this.#health.state === 'failing')) return true;
    // If the other notifier ends before it is done, this one takes over.
    this.#ports.later(job, this.#ports.clock.now() + leaseMs);
    return false;
  }

  async #act(actions: readonly [PlannedMessage, ...PlannedMessage[]], signal: AbortSignal): Promise<SendResult> {
    const [{ notice, messageRef, inReplyTo }] = actions;
    try {
      if (messageRef !== undefined) {
        return (await this.channel.update?.(messageRef, notice, { signal })) ?? { status: 'delivered', messageRef };
      }
      const isQuestion = notice.kind === 'requested' || notice.kind === 'reminder';
      const options = { signal, ...(inReplyTo === undefined || isQuestion ? {} : { inReplyTo }) };
      const notices = actions.map((action) => action.notice) as [Notice, ...Notice[]];
      return await this.channel.send(notices, options);
    } catch (error) {
      // Adapters do not throw. If one does, the others must continue, and its error text could contain a secret.
      this.#ports.log.error(
        { channelId: this.channel.id, name: error instanceof Error ? error.name : 'unknown' },
        'a channel threw an error',
      );
      return { status: 'failed', reason: 'the channel failed in an unexpected way' };
    } finally {
      crashPoint('notifier.sent');
    }
  }

  /** Records a result. Returns false for a message that keeps its turn. */
  async #isOver(
    actions: readonly PlannedMessage[],
    result: SendResult,
    failure: Failure,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (result.status === 'failed') return this.#fail(actions, result, failure, signal);
    await this.#settle(actions, result, signal);
    return true;
  }

  async #settle(
    actions: readonly PlannedMessage[],
    result: Exclude<SendResult, { status: 'failed' }>,
    signal: AbortSignal,
  ): Promise<void> {
    this.#health.works(actions, result);
    if (result.status === 'delivered') this.#hasParked = false;
    if (result.status === 'off') {
      const { id: channelId, endpoint = '' } = this.channel;
      const [{ subject }] = actions as readonly [PlannedMessage];
      await this.#ports.deliveries.switchOff({ tenant: subject.tenant, channelId, endpoint, reason: result.reason });
      this.#health.switchedOff(result.reason);
    }
    for (const action of actions)
      await this.#record(action, toEvent(action, result, timeOf(this.#ports.clock.now())), signal);
  }

  /** Records the failure. Returns true when the message is skipped for now, false when it is retried in its turn. */
  async #fail(
    actions: readonly PlannedMessage[],
    result: Extract<SendResult, { status: 'failed' }>,
    { tries, isFirst }: Failure,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (signal.aborted) throw new NotifierStoppedError('the notifier stops');
    const pauseMs = this.#health.failed(result);
    this.#pausedUntil = this.#ports.clock.monotonic() + pauseMs;
    const isAnnounced = this.#hasParked && actions.every(hasFailedBefore);
    if (result.about === 'recipient') {
      await this.#recordFailures(actions, result.reason, { nthMin: 1, inTurnMs: undefined }, signal);
    } else if (hasNamedWait(result) || (tries < triesMax && !isAnnounced)) {
      const when = { nthMin: triesMax, inTurnMs: pauseMs };
      // The log records the failure and the next try once; each further try of a channel that is down would fill it.
      if (isFirst && !isAnnounced) await this.#recordFailures(actions, result.reason, when, signal);
      return false;
    } else {
      await this.#stepAside(actions, result.reason, pauseMs, signal);
    }
    return true;
  }

  /** The first message after one that was delivered has its own times. Those after it are tried with the channel's pauses. */
  async #stepAside(
    actions: readonly PlannedMessage[],
    reason: string,
    pauseMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, later } = this.#ports;
    if (this.#hasParked) {
      for (const { job } of actions) later({ ...job, isRetry: true }, clock.now() + pauseMs);
      return;
    }
    this.#hasParked = true;
    await this.#recordFailures(actions, reason, { nthMin: triesMax, inTurnMs: undefined }, signal);
  }

  async #recordFailures(
    actions: readonly PlannedMessage[],
    reason: string,
    when: FailureTimes,
    signal: AbortSignal,
  ): Promise<void> {
    for (const action of actions) await this.#recordFailure(action, reason, when, signal);
  }

  async #recordFailure(
    action: PlannedMessage,
    reason: string,
    { nthMin, inTurnMs }: FailureTimes,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, later } = this.#ports;
    const attempt = (action.before?.attempts ?? 0) + 1;
    const afterMs = inTurnMs ?? pauseAfter(Math.max(attempt, nthMin));
    const now = clock.now();
    if (afterMs === undefined) this.#health.gaveUp(action, 'channel', reason);
    const nextAttemptAt = afterMs === undefined ? null : timeOf(now + afterMs);
    const data = { ...dataOf(action.subject, action.job.key), attempt, reason, nextAttemptAt, failedAt: timeOf(now) };
    await this.#record(action, { type: 'NotificationFailed', data }, signal);
    if (inTurnMs === undefined && afterMs !== undefined) later({ ...action.job, isRetry: true }, now + afterMs);
  }

  #record(action: PlannedMessage, event: DeliveryEvent, signal: AbortSignal): Promise<void> {
    return this.#ports.deliveries.record(action.subject, event, signal);
  }
}
