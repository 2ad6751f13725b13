import type { RecordedEvent } from '@countersign/contracts';
import type { Clock, Log } from '@countersign/runtime';
import type { Dispatcher } from '../dispatcher.js';
import { describeError } from '../failure.js';
import { createWatermark } from '../watermark.js';
import type { Watermark } from '../watermark.js';
import { beginning } from './bus-file.js';
import type { BusFile, Checkpoint } from './bus-file.js';
import { LogMessage } from './log-message.js';
import type { LogReader } from './log-reader.js';

export interface TopicReaderOptions {
  readonly group: string;
  readonly topic: string;
  readonly source: LogReader;
  /** Undefined: all. */
  readonly types: ReadonlySet<string> | undefined;
  readonly dispatcher: Dispatcher;
  readonly file: BusFile;
  readonly clock: Clock;
  readonly log: Log;
}

/** The progress is written beside the loop, at most this often, so that a message costs no write. */
const saveEveryMs = 200;
const reopenAfterMs = 1_000;

/** Reads one topic for one group: from its checkpoint, in order, for ever. */
export class TopicReader {
  readonly #options: TopicReaderOptions;
  #watermark: Watermark<Checkpoint> | undefined;
  #saved: Checkpoint = beginning;
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
    this.#save();
  }

  async #open(): Promise<void> {
    try {
      this.#watermark ??= createWatermark((this.#saved = await this.#start()));
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
    this.#options.log.warn({ error }, 'the log cannot be read, it is tried again');
    this.#cancelReopen = this.#options.clock.setTimer(reopenAfterMs, () => {
      this.#opening = this.#open();
    });
  }

  /**
   * The group's checkpoint, or the beginning when the log does not hold it: a log put back from a backup is shorter,
   * and what it records from now on would be skipped. Messages that come twice are borne, missing ones are not.
   */
  async #start(): Promise<Checkpoint> {
    const { file, group, topic, source, log } = this.#options;
    const checkpoint = file.checkpoint(group, topic);
    if (checkpoint.position === beginning.position) return beginning;
    const [event] = await source.readAll(checkpoint.position - 1, 1);
    if (event?.position === checkpoint.position && event.eventId === checkpoint.eventId) return checkpoint;
    log.error({ position: checkpoint.position }, 'the log is not the one that was read: starting at its beginning');
    return beginning;
  }

  async #take(events: readonly RecordedEvent[]): Promise<void> {
    const { dispatcher } = this.#options;
    for (const event of events) {
      if (dispatcher.stopping) return;
      const room = this.#takeOne(event);
      if (room !== undefined) await room;
    }
  }

  #takeOne(event: RecordedEvent): Promise<void> | undefined {
    const { topic, types, dispatcher } = this.#options;
    const place = { position: event.position, eventId: event.eventId };
    if (types !== undefined && !types.has(event.type)) {
      this.#watermark?.pass(place);
      this.#saveLater();
      return undefined;
    }
    const end = this.#watermark?.begin(place);
    return dispatcher.submit(new LogMessage(topic, event), () => {
      end?.();
      this.#saveLater();
    });
  }

  #saveLater(): void {
    this.#cancelSave ??= this.#options.clock.setTimer(saveEveryMs, () => {
      this.#cancelSave = undefined;
      this.#save();
    });
  }

  #save(): void {
    const { file, group, topic, log } = this.#options;
    const low = this.#watermark?.low() ?? this.#saved;
    if (low.position === this.#saved.position) return;
    try {
      file.saveCheckpoint(group, topic, low);
      this.#saved = low;
    } catch (error) {
      // Not a failure of the messages: at worst they come again.
      log.warn({ error }, 'the progress cannot be written, it is tried again');
      if (!this.#stopped) this.#saveLater();
    }
  }
}
