import { isReadable, QuestionRefusedError } from '@countersign/contracts';
import type { LogEvent } from '@countersign/contracts';
import type { Subscription } from '@countersign/event-store';
import { FencedError, toEventMessage } from '@countersign/message-bus';
import type { Turn } from '@countersign/message-bus';
import { crashPoint, sleep } from '@countersign/runtime';
import { Outbox } from './outbox.js';
import type { Place } from './outbox.js';
import { publishAll } from './publishing.js';
import type { RelayOptions } from './relay-options.js';

const beginning: Place = { position: 0, previous: 0, eventId: '' };
const reopenAfterMs = 1_000;

/** The state of one term of leadership. */
export interface LeadershipFigures {
  readonly position: number;
  readonly waiting: number;
  /** When the oldest event that waits was recorded. */
  readonly oldestAt: string | undefined;
  readonly why: string | undefined;
}

/** The time in which this process publishes the log: from the kept progress on, until the turn or the relay ends. */
export class Leadership {
  readonly #options: RelayOptions;
  readonly #turn: Turn;
  readonly #outbox: Outbox;
  /** The leadership was lost, or the relay stops. */
  readonly #over: AbortSignal;
  readonly #lost = new AbortController();
  #read: Place = beginning;
  #published: Place = beginning;
  #kept: Place = beginning;
  #subscription: Subscription | undefined;
  /** Distinguishes a replaced subscription from the current one. */
  #generation = 0;
  #notRead: string | undefined;
  #notPublished: string | undefined;
  #keeping: Promise<void> = Promise.resolve();
  #cancelKeep: (() => void) | undefined;
  #cancelReopen: (() => void) | undefined;

  constructor(options: RelayOptions, turn: Turn, stopping: AbortSignal) {
    const { batchMax = 1000, messageBytesMax = 900_000 } = options;
    this.#options = options;
    this.#turn = turn;
    this.#over = AbortSignal.any([turn.ended, stopping, this.#lost.signal]);
    this.#outbox = new Outbox({
      entriesMax: 4 * batchMax,
      bytesMax: 8 * messageBytesMax,
      batchEntriesMax: batchMax,
      // A broker's size limit applies to the whole batch, not to one message.
      batchBytesMax: messageBytesMax,
    });
  }

  figures(): LeadershipFigures {
    const why = this.#notPublished ?? this.#notRead;
    const { size, oldest } = this.#outbox;
    return { position: this.#published.position, waiting: size, oldestAt: oldest?.recordedAt, why };
  }

  /** Resolves when the leadership is over. Keeps the progress first, unless another relay already leads. */
  async run(): Promise<void> {
    const close = (): void => this.#outbox.close();
    this.#over.addEventListener('abort', close, { once: true });
    if (this.#over.aborted) close();
    try {
      this.#read = this.#published = this.#kept = await this.#start();
      this.#subscribe();
      await this.#publish();
    } finally {
      this.#generation += 1;
      this.#cancelReopen?.();
      this.#cancelKeep?.();
      close();
      await this.#subscription?.stop();
      await this.#keeping;
      await this.#keep();
      await this.#turn.release().catch((error: unknown) => {
        this.#options.log.warn({ error }, 'the leadership could not be released; it ends by timeout');
      });
    }
  }

  async #publish(): Promise<void> {
    const onInterruption = (why: string | undefined): void => void (this.#notPublished = why);
    const publishing = { ...this.#options, onInterruption };
    while (!this.#over.aborted) {
      const entries = await this.#outbox.next();
      const last = entries.at(-1);
      if (last === undefined) continue;
      // One batch at a time, or a retry of the first could arrive after the second. The next batch is prepared
      // meanwhile.
      if (
        !(await publishAll(
          entries.map(({ message }) => message),
          publishing,
          this.#over,
        ))
      )
        return;
      crashPoint('relay.after-publish');
      this.#outbox.done(entries.length);
      this.#published = last.place;
      this.#keepLater();
    }
  }

  /**
   * Returns the stored progress, or the beginning when the log does not have it: consumers tolerate duplicates, but not
   * missing events.
   */
  async #start(): Promise<Place> {
    const { store, clock, log } = this.#options;
    const place = parsePlace(this.#turn.progress);
    if (place === undefined) log.error({ progress: this.#turn.progress }, 'the stored progress cannot be read');
    while (place !== undefined && place.position > 0 && !this.#over.aborted) {
      try {
        const [event] = await store.readAll(place.previous, 1).catch(noneIfRefused);
        if (event?.position === place.position && event.eventId === place.eventId) return place;
        log.error(
          { position: place.position },
          'the log differs from the one that was published: starting at its beginning',
        );
        return beginning;
      } catch (error) {
        this.#notRead = describe(error);
        log.warn({ error }, 'the log cannot be read; retrying');
        await sleep(clock, reopenAfterMs, this.#over);
      }
    }
    return beginning;
  }

  #subscribe(): void {
    if (this.#over.aborted) return;
    const generation = (this.#generation += 1);
    const { store, log, clock } = this.#options;
    const reopen = (error: unknown): void => {
      if (generation !== this.#generation || this.#over.aborted) return;
      this.#generation += 1;
      this.#notRead = describe(error);
      log.warn({ error }, 'the log cannot be read; retrying');
      this.#cancelReopen = clock.setTimer(reopenAfterMs, () => this.#subscribe());
    };
    try {
      this.#subscription = store.subscribe(this.#read.position, {
        onEvents: (events) => this.#take(events, generation),
        onCaughtUp: () => void (this.#notRead = undefined),
        onError: reopen,
      });
    } catch (error) {
      reopen(error);
    }
  }

  async #take(events: readonly LogEvent[], generation: number): Promise<void> {
    for (const event of events) {
      if (generation !== this.#generation || this.#outbox.closed) return;
      this.#notRead = undefined;
      const room = this.#takeOne(event);
      if (room !== undefined) await room;
    }
  }

  #takeOne(event: LogEvent): Promise<void> | undefined {
    const place = { position: event.position, previous: this.#read.position, eventId: event.eventId };
    this.#read = place;
    // A store may hold what others wrote, which the topic does not carry.
    if (isReadable(event) && !isOfLedger(event)) return undefined;
    const message = toEventMessage(event);
    return this.#outbox.add({ message, bytes: bytesOf(message.value), place, recordedAt: event.recordedAt });
  }

  #keepLater(): void {
    const { clock, keepEveryMs = 200 } = this.#options;
    this.#cancelKeep ??= clock.setTimer(keepEveryMs, () => {
      this.#cancelKeep = undefined;
      this.#keeping = this.#keeping.then(() => this.#keep());
    });
  }

  /** In the background: nothing waits for it. At worst some events are published again. */
  async #keep(): Promise<void> {
    const place = this.#published;
    if (place.position === this.#kept.position || this.#lost.signal.aborted) return;
    try {
      await this.#turn.keep(JSON.stringify(place));
      this.#kept = place;
    } catch (error) {
      if (error instanceof FencedError) {
        // A former leader stops: the new leader publishes from here on.
        this.#lost.abort(error);
        return;
      }
      this.#options.log.warn({ error }, 'the progress of the relay cannot be stored; retrying');
      if (!this.#over.aborted) this.#keepLater();
    }
  }
}

/** A log that has no event at the position is another one. */
function noneIfRefused(error: unknown): readonly LogEvent[] {
  if (error instanceof QuestionRefusedError) return [];
  throw error;
}

/** The headers of every event, independent of type and stream. */
function isOfLedger({ metadata }: { readonly metadata: unknown }): boolean {
  if (typeof metadata !== 'object' || metadata === null) return false;
  return 'tenant' in metadata && 'commandId' in metadata && 'schemaVersion' in metadata;
}

function parsePlace(progress: string | null): Place | undefined {
  if (progress === null) return beginning;
  try {
    const { position, previous, eventId } = JSON.parse(progress) as Record<keyof Place, unknown>;
    const isPlace = Number.isSafeInteger(position) && Number.isSafeInteger(previous) && typeof eventId === 'string';
    return isPlace ? { position: Number(position), previous: Number(previous), eventId } : undefined;
  } catch {
    return undefined;
  }
}

function bytesOf(value: string | Uint8Array): number {
  return typeof value === 'string' ? Buffer.byteLength(value) : value.byteLength;
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
