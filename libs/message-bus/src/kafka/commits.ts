import type { Clock, Log } from '@countersign/runtime';
import { describeError } from '../failure.js';
import type { Generation } from './generation.js';

export interface CommitsOptions {
  /** The current generation; nothing of an earlier one is committed. */
  readonly generation: () => Pick<Generation, 'commit'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Progress is committed in the background, at most this often: a commit takes a broker 6 ms. */
const commitEveryMs = 200;

/** The commits of one session, in order. A failed commit is not a failure of the messages. */
export class Commits {
  readonly #options: CommitsOptions;
  #cancel: (() => void) | undefined;
  #running = Promise.resolve();
  #ended = false;

  constructor(options: CommitsOptions) {
    this.#options = options;
  }

  /** Something more is done: it is committed soon. */
  readonly later = (): void => {
    if (this.#cancel !== undefined || this.#ended) return;
    this.#cancel = this.#options.clock.setTimer(commitEveryMs, () => {
      this.#cancel = undefined;
      this.#running = this.#running.then(() => this.now());
    });
  };

  /** Commits at once; never rejects. `leaving` also records that this member leaves in order. */
  async now({ leaving = false } = {}): Promise<void> {
    const { generation, log } = this.#options;
    try {
      await generation().commit({ leaving });
    } catch (error) {
      // At worst the messages come again.
      log.debug({ error }, `the progress was not committed: ${describeError(error)}`);
      this.later();
    }
  }

  /** Commits for the last time. */
  async end(): Promise<void> {
    this.#ended = true;
    this.#cancel?.();
    await this.#running;
    await this.now({ leaving: true });
  }
}
