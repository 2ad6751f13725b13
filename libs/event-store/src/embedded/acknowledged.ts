import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs';
import { keepPrivate } from '@countersign/runtime';
import type { Log } from '@countersign/runtime';

/** The position of the last acknowledged event, in a file next to the log. */
export interface Acknowledged {
  /** The position in the file when it was opened; `undefined` when it had none, or a torn one. */
  readonly found: number | undefined;
  /** Stores a position. It survives a kill at once, and a power cut a little later. */
  readonly note: (position: number) => void;
  readonly close: () => void;
}

/** The number twice, so that a torn write is recognised. */
const form = /^(\d{16}) (\d{16})\n$/;

/**
 * Opens or creates the file.
 *
 * A position is stored after its commit was flushed and before the commit is acknowledged, without its own flush: the
 * file may be behind the log, and is never ahead of it. So a log that ends before the stored position has lost
 * acknowledged events.
 */
export function openAcknowledged(file: string, log: Log): Acknowledged {
  keepPrivate(file);
  const found = parse(readFileSync(file, 'latin1'));
  const descriptor = openSync(file, constants.O_RDWR);
  const bytes = Buffer.alloc(34);
  return {
    found,
    note: (position) => {
      const digits = String(position).padStart(16, '0');
      bytes.write(`${digits} ${digits}\n`, 'latin1');
      try {
        writeSync(descriptor, bytes, 0, bytes.length, 0);
      } catch (error) {
        // The events are in the log; only the file is behind.
        log.warn({ file, error }, 'the acknowledged position cannot be stored');
      }
    },
    close: () => {
      closeSync(descriptor);
    },
  };
}

function parse(text: string): number | undefined {
  const [, first, second] = form.exec(text) ?? [];
  return first === undefined || first !== second ? undefined : Number(first);
}
