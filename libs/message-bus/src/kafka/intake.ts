import { atMost, orAborted } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import type { Dispatcher } from '../dispatcher.js';
import type { Commits } from './commits.js';
import { unreadableHeader } from '../event-message.js';
import { isReplayForOther } from './dead-letter-headers.js';
import { after } from './generation.js';
import type { Generation, Partition } from './generation.js';
import { headerOf } from './kafka-message.js';
import type { KafkaMessage } from './kafka-message.js';
import { farewellMsMax } from './farewell.js';

export interface IntakeOptions {
  readonly group: string;
  /** Undefined: all. */
  readonly types: ReadonlySet<string> | undefined;
  readonly takesUnreadable: boolean;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly commits: Pick<Commits, 'later' | 'now'>;
  /** A message is handled or parked. */
  readonly onSettled: () => void;
  readonly log: Log;
}

/** Gives what was fetched to the dispatcher, and notes what becomes of it. */
export class Intake {
  readonly #options: IntakeOptions;

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  tellOfCrash({ topic, partition, committed: { offset, record } }: Partition): void {
    const message = 'a process ended while it handled messages from here on: they are handled one at a time';
    this.#options.log.warn({ topic, partition, offset, record }, message);
  }

  /** A promise means that the buffer is full: await it before the next message. */
  take(message: KafkaMessage, partition: Partition, generation: Generation): Promise<void> | undefined {
    const { watermark, probation } = partition;
    if (!probation.over && BigInt(message.offset) >= partition.end) probation.finish();
    const next = after(message.offset);
    if (!this.#isWanted(message)) {
      watermark.pass(next);
      this.#options.commits.later();
      return undefined;
    }
    message.keepApart();
    const end = watermark.begin(next);
    const settled = (): void => {
      end();
      this.#options.onSettled();
      this.#options.commits.later();
    };
    return probation.over
      ? this.#options.dispatcher.submit(message, settled)
      : this.#takeAlone(message, partition, generation, settled);
  }

  #takeAlone(message: KafkaMessage, { probation }: Partition, generation: Generation, end: () => void): Promise<void> {
    const settled = (): void => {
      probation.settled();
      end();
    };
    const { commits, dispatcher, clock } = this.#options;
    const trial = probation.trial(
      () => orAborted(generation.commit(), dispatcher.signal),
      () => atMost(clock, farewellMsMax, commits.now()),
    );
    return dispatcher.submitAlone(message, settled, trial);
  }

  #isWanted({ received }: KafkaMessage): boolean {
    const { types, group, takesUnreadable } = this.#options;
    return (
      (types === undefined || types.has(headerOf(received, 'ce_type') ?? '')) &&
      !isReplayForOther(received, group) &&
      (takesUnreadable || !isUnreadableEvent(received))
    );
  }
}

/** A recorded event whose data the relay could not read. Requests have no sequence, so none of them is passed over. */
function isUnreadableEvent(received: KafkaMessage['received']): boolean {
  return headerOf(received, unreadableHeader) !== undefined && headerOf(received, 'ce_sequence') !== undefined;
}
