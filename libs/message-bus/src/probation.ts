import type { Failure } from './failure.js';

/** The number of ended processes after which a message is parked. */
const crashesMax = 3;

/** Why such a message is parked; undefined while it may be handled again. */
export function crashFailure(crashes: number): Failure | undefined {
  if (crashes < crashesMax) return undefined;
  const detail = `${String(crashes)} processes ended while they handled this message`;
  return { code: 'crashed', detail, attempts: crashes };
}

/** The handling of one message while no other handler of this process runs. */
export interface Trial {
  /** How many processes have crashed while they handled this message. */
  readonly crashes: number;
  /** Stores durably that the message is being handled alone. MUST resolve before the handler runs. */
  readonly begin: () => Promise<void>;
  /**
   * The handler has returned or thrown. Resolves when that is stored, before the next message is on trial. Never
   * rejects.
   */
  readonly end: () => Promise<void>;
}

/** The record that a process stores with its progress. */
interface CrashRecord {
  /**
   * `together`: messages are handled concurrently from the stored progress on. `alone`: the first message after the stored
   * progress is being handled alone. `suspect`: that message is to be handled alone, and no handler runs.
   */
  readonly mode: 'together' | 'alone' | 'suspect';
  readonly crashes: number;
  /** The process that wrote it. */
  readonly life: string;
}

function parseRecord(text: string): CrashRecord | undefined {
  const [, mode, crashes = '0', life = ''] = /^(together|alone|suspect) (\d{1,6}) (\S+)$/.exec(text) ?? [];
  return mode === undefined ? undefined : { mode: mode as CrashRecord['mode'], crashes: Number(crashes), life };
}

/** How many processes have crashed with the first message after the stored progress. */
function crashesOf(text: string, life: string | undefined): number {
  const record = parseRecord(text);
  if (record === undefined) return 0;
  // A process that reads its own record has not ended.
  const ended = life === undefined || record.life !== life;
  if (record.mode === 'together') return ended ? 1 : 0;
  return record.crashes + (record.mode === 'alone' && ended ? 1 : 0);
}

export interface ProbationOptions {
  /** The stored record; empty when the previous process left in order, or there was none. */
  readonly record: string;
  /**
   * Names this process. Undefined when only one process at a time has the records: then each record is an earlier
   * process's.
   */
  readonly life?: string;
  /** How many messages the previous process may have been handling. */
  readonly messagesMax: number;
  /** Handles them alone although no crash is known. Default: false. */
  readonly isSuspect?: boolean;
}

/**
 * How the messages of one partition are handled after a process has crashed: one at a time, each recorded durably
 * before it starts, until every message that the crashed process may have been handling is handled or parked. Then they
 * are handled concurrently again, and only the same few bytes are stored with the progress.
 */
export class Probation {
  readonly #life: string;
  #crashes: number;
  #messagesLeft: number;
  #isRunning = false;

  constructor({ record, life, messagesMax, isSuspect = false }: ProbationOptions) {
    this.#life = life ?? '-';
    this.#crashes = crashesOf(record, life);
    this.#messagesLeft = this.#crashes > 0 || isSuspect ? messagesMax : 0;
  }

  /** True if messages are handled concurrently. */
  get over(): boolean {
    return this.#messagesLeft === 0;
  }

  /** Returns the record to store with the current progress while this process continues. */
  get record(): string {
    if (this.over) return `together 0 ${this.#life}`;
    return `${this.#isRunning ? 'alone' : 'suspect'} ${String(this.#crashes)} ${this.#life}`;
  }

  /** Returns the record to store with the current progress when this process leaves in order. */
  get farewell(): string {
    return this.over ? '' : `suspect ${String(this.#crashes)} ${this.#life}`;
  }

  /** The messages from here on are newer than the process that ended. */
  finish(): void {
    this.#messagesLeft = 0;
  }

  /**
   * The trial of the next message. `store` stores the record of now with the progress of now; `storeSafely` as well, but
   * never rejects.
   */
  trial(store: () => void | Promise<void>, storeSafely: () => void | Promise<void>): Trial {
    return {
      crashes: this.#crashes,
      begin: async () => {
        this.#isRunning = true;
        await store();
      },
      end: async () => {
        this.#isRunning = false;
        await storeSafely();
      },
    };
  }

  /** The message on trial is handled or parked. Those after it may also have been in progress at a crash. */
  settled(): void {
    this.#crashes = 1;
    this.#messagesLeft = Math.max(0, this.#messagesLeft - 1);
  }
}
