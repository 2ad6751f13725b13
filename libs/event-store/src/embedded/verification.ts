import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '@countersign/runtime';
import { sleep } from '@countersign/runtime';
import { EventStoreDamagedError } from '../event-store.js';
import type { Head, LogFile } from './log-file.js';
import { reading } from './log-reader.js';
import { chainOf, checkLeaf, genesisChain, isSameDigest } from './stored-event.js';
import type { LeafHash, StoredRow } from './stored-event.js';

/** The state of a running verification. */
export interface VerifyOptions {
  readonly onProgress?: (verified: number, total: number) => void;
  readonly signal?: AbortSignal;
}

/** The result of a verification. `verified` counts the verified events from the first one on. */
export type VerifyResult =
  | { readonly status: 'ok' | 'stopped'; readonly verified: number }
  | { readonly status: 'damaged'; readonly verified: number; readonly error: EventStoreDamagedError };

/** Proves stored events: each by its leaf, all by the chain, and that the indexes lead to them. */
export interface Verification {
  /** Verifies the last events and the head, synchronously. @throws EventStoreDamagedError */
  readonly verifyTail: (count: number) => Head;
  /** Verifies the events after `from`, in slices; between them the process does other work. */
  readonly verifyFrom: (from: Head, options: VerifyOptions & { readonly background: boolean }) => Promise<Pass>;
}

/** A verification, and how far it came. */
export interface Pass {
  readonly result: VerifyResult;
  readonly end: Head;
}

/** The place before the first event. */
export const beforeFirst: Head = { position: 0, chain: genesisChain };

const sliceSize = 100;
/** The pause in ms after each ms of work in the background: a twentieth of a core is used. */
const restFactor = 19;

/** Verification of an opened log. */
export function createVerification(log: LogFile, leafHash: LeafHash, clock: Clock): Verification {
  /** Proves the events after `from`, up to a position that must be there. */
  const verifySlice = (from: Head, to: number): Head => {
    let { position, chain } = from;
    for (const row of log.readChained(position, to)) {
      position += 1;
      checkRow(row, position);
      const [, , , , , , , , leaf, storedChain] = row;
      chain = chainOf(chain, leaf);
      if (storedChain === undefined || !isSameDigest(chain, storedChain))
        throw damage(position, 'does not continue the chain of those before it', row[1]);
    }
    if (position < to) throw damage(position + 1, 'is missing');
    return { position, chain };
  };
  const checkRow = (row: StoredRow, position: number): void => {
    if (row[0] !== position) throw damage(position, 'is missing');
    checkLeaf(leafHash, row);
    const [, stream, revision] = row;
    if (log.positionOf(stream, revision) !== position)
      throw damage(position, 'is not found through its stream', stream);
  };
  const chainBefore = (position: number): Head => {
    if (position === 0) return beforeFirst;
    const chain = log.chainAt(position);
    if (chain === undefined) throw damage(position, 'is missing');
    return { position, chain };
  };
  return {
    verifyTail: (count) =>
      reading(() => {
        const head = log.head();
        if (head === undefined) throw new EventStoreDamagedError('the head of the log is missing');
        const end = verifySlice(chainBefore(Math.max(0, head.position - count)), head.position);
        if (!isSameDigest(end.chain, head.chain)) throw damage(head.position, 'is not the one that the head names');
        if (log.lastPosition() !== head.position) throw damage(head.position + 1, 'is after the head');
        const first = log.firstPosition();
        if (first < 1) throw damage(first, 'is before the first one');
        return end;
      }),
    verifyFrom: async (from, { onProgress, signal, background }) => {
      let at = from;
      const passed = (status: 'ok' | 'stopped'): Pass => ({ result: { status, verified: at.position }, end: at });
      try {
        const total = reading(() => log.head()?.position ?? 0);
        while (at.position < total) {
          const start = clock.monotonic();
          at = reading(() => verifySlice(at, Math.min(at.position + sliceSize, total)));
          onProgress?.(at.position, total);
          const workMs = clock.monotonic() - start;
          await (background ? sleep(clock, workMs * restFactor, signal) : nextTurn());
          if (signal?.aborted === true) return passed('stopped');
        }
        return passed('ok');
      } catch (error) {
        if (!(error instanceof EventStoreDamagedError)) throw error;
        return { result: { status: 'damaged', verified: at.position, error }, end: at };
      }
    },
  };
}

function damage(position: number, what: string, stream?: string): EventStoreDamagedError {
  return new EventStoreDamagedError(
    `the event at position ${position} ${what}: restore the store from a backup`,
    stream === undefined ? { position } : { position, stream },
  );
}
