import { isReadable } from '@countersign/contracts';
import type { LogEvent } from '@countersign/contracts';
import type { Clock, Log } from '@countersign/runtime';
import type { Dispatcher } from '../dispatcher.js';
import type { SubscribeOptions } from '../message-bus.js';
import { Probation } from '../probation.js';
import { describeError } from '../failure.js';
import { createWatermark } from '../watermark.js';
import type { Watermark } from '../watermark.js';
import { beginning } from './bus-file.js';
import type { BusFile, Checkpoint, Progress } from './bus-file.js';
import { LogMessage } from './log-message.js';
import type { LogReader } from './log-reader.js';

export interface TopicReaderOptions {
  readonly group: string;
  readonly topic: string;
  readonly source: LogReader;
  /** Undefined: all. */
  readonly types: ReadonlySet<string> | undefined;
  readonly concerns: SubscribeOptions['concerns'];
  readonly dispatcher: Dispatcher;
  readonly file: BusFile;
  /** How many messages a crashed process may have been handling. */
  readonly suspectsMax: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** The progress is written in the background, at most this often, so a message costs no write. */
const saveEveryMs = 200;
const reopenAfterMs = 1_000;

/** Reads one topic for one group: from its checkpoint, in order, without end. */
export class TopicReader {
  readonly #options: TopicReaderOptions;
  #watermark: Watermark<Checkpoint> | undefined;
  #probation: Probation | undefined;
  /** The last position that a process which ended may have read. */
  #suspectUntil = Infinity;
  #saved: Progress = { checkpoint: beginning, record: '' };
  #reading: { readonly stop: () => Promise<void> } | undefined;
  #opening: Promise<void>;
  #interruption: string | undefined;
  #cancelSave: (() => void) | undefined;
  #cancelReopen: (() => void) | undefined;
  #stopped = false;

  constructor(options: TopicReaderOptions) {
    this.#options = options;
    this.#opening = this.#open();
  }

  /** Why nothing can be read now. */
  get interruption(): string | undefined {
    return this.#interruption;
  }

  /** Reads no further. Call `close` once the dispatcher has stopped. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelReopen?.();
    await this.#opening;
    await this.#reading?.stop();
  }

  /** Keeps the progress. */
  close(): void {
    this.#cancelSave?.();
    try {
      if (this.#probation !== undefined) this.#save(this.#probation.farewell);
    } catch (error) {
      this.#options.log.warn({ error }, 'the progress could not be written');
    }
  }

  async #open(): Promise<void> {
    try {
      this.#watermark ??= createWatermark((this.#saved = await this.#start()).checkpoint);
      if (this.#stopped) return;
      this.#interruption = undefined;
      this.#reading = this.#options.source.subscribe(this.#watermark.high().position, {
        onEvents: (events) => this.#take(events),
        onError: (error) => this.#interrupted(error),
      });
    } catch (error) {
      this.#interrupted(error);
    }
  }

  #interrupted(error: unknown): void {
    this.#interruption = describeError(error);
    if (this.#stopped) return;
    this.#options.log.warn({ error }, 'the log cannot be read; retrying');
    this.#cancelReopen = this.#options.clock.setTimer(reopenAfterMs, () => {
      this.#opening = this.#open();
    });
  }

  /**
   * The group's checkpoint, or the beginning when the log does not reach it: a log restored from a backup is shorter,
   * and its next events would be skipped. Duplicates are tolerated, missing messages are not.
   */
  async #start(): Promise<Progress> {
    const { file, group, topic, source, log } = this.#options;
    const stored = file.progress(group, topic);
    const { position, eventId } = stored.checkpoint;
    const [event] = position === beginning.position ? [] : await source.readAll(position - 1, 1);
    const isSame = position === beginning.position || (event?.position === position && event.eventId === eventId);
    if (!isSame) log.error({ position }, 'the log differs from the one that was read: starting at its beginning');
    const progress = isSame ? stored : { checkpoint: beginning, record: '' };
    await this.#suspect(progress);
    return progress;
  }

  /** Decides how the first messages are handled: a process that ended may have been handling them. */
  async #suspect({ checkpoint, record }: Progress): Promise<void> {
    const { source, suspectsMax, log } = this.#options;
    const probation = new Probation({ record, messagesMax: suspectsMax });
    if (!probation.over) {
      const suspects = await source.readAll(checkpoint.position, suspectsMax);
      // Fewer than could be read: these are all that there were.
      if (suspects.length < suspectsMax) this.#suspectUntil = suspects.at(-1)?.position ?? checkpoint.position;
      const fields = { position: checkpoint.position, record };
      if (record.startsWith('suspect'))
        log.info(fields, 'messages after an earlier crash are still handled one at a time');
      else log.warn(fields, 'a process ended while it handled messages from here on');
    }
    this.#probation = probation;
  }

  async #take(events: readonly LogEvent[]): Promise<void> {
    const { dispatcher } = this.#options;
    for (const event of events) {
      if (dispatcher.stopping) return;
      const room = this.#takeOne(event);
      if (room !== undefined) await room;
    }
  }

  #takeOne(event: LogEvent): Promise<void> | undefined {
    const { topic, types, concerns } = this.#options;
    const place = { position: event.position, eventId: event.eventId };
    // No handler of ours can do anything with an event that cannot be read.
    if (!isReadable(event) || types?.has(event.type) === false || concerns?.(event) === false) {
      this.#watermark?.pass(place);
      this.#saveLater();
      return undefined;
    }
    const end = this.#watermark?.begin(place);
    return this.#submit(new LogMessage(topic, event), event.position, () => {
      end?.();
      this.#saveLater();
    });
  }

  #submit(message: LogMessage, position: number, settled: () => void): Promise<void> | undefined {
    const { dispatcher } = this.#options;
    const probation = this.#probation;
    if (position > this.#suspectUntil) probation?.finish();
    if (probation?.over === false) return this.#submitAlone(message, probation, settled);
    // Once per process, not per message: the next process must see that this one had begun.
    if (this.#saved.record !== probation?.record) this.#saveSafely();
    return dispatcher.submit(message, settled);
  }

  #submitAlone(message: LogMessage, probation: Probation, settled: () => void): Promise<void> {
    const trial = probation.trial(
      () => this.#save(),
      () => this.#saveSafely(),
    );
    const released = (): void => {
      probation.settled();
      settled();
    };
    return this.#options.dispatcher.submitAlone(message, released, trial);
  }

  #saveLater(): void {
    this.#cancelSave ??= this.#options.clock.setTimer(saveEveryMs, () => {
      this.#cancelSave = undefined;
      this.#saveSafely();
    });
  }

  /** @throws what the file throws */
  #save(record = this.#probation?.record ?? ''): void {
    const { file, group, topic } = this.#options;
    const checkpoint = this.#watermark?.low() ?? this.#saved.checkpoint;
    if (checkpoint.position === this.#saved.checkpoint.position && record === this.#saved.record) return;
    file.saveProgress(group, topic, { checkpoint, record });
    this.#saved = { checkpoint, record };
  }

  #saveSafely(): void {
    try {
      this.#save();
    } catch (error) {
      // Not a failure of the messages: at worst they come again.
      this.#options.log.warn({ error }, 'the progress cannot be written; retrying');
      if (!this.#stopped) this.#saveLater();
    }
  }
}
