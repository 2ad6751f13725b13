import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSealedTexts, EventStoreUnavailableError } from '@countersign/event-store';
import type { SealedTexts, SubjectKey } from '@countersign/event-store';
import { makeFolderOf, sleep } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';
import type { BorrowedKeys } from './borrowed-keys.js';
import type { Loan } from './loan.js';

/** The copies of values that a process keeps: one key for them all, which every erasure replaces. */
export interface BorrowedCopies {
  /** Opens the copy in a file. Until that is done, no rewriting begins. */
  readonly openRows: <Rows extends { readonly rebuild: (onProgress: () => void) => Promise<unknown> }>(
    open: (texts: SealedTexts, onProgress: () => void) => Promise<Rows>,
  ) => Promise<Rows>;
  /** Adds a copy in memory, or one that is simply forgotten. */
  readonly keep: (rewrite: () => Promise<void>) => void;
  readonly rewrite: () => Promise<void>;
  /** Changes while a file is written. */
  readonly progress: () => number;
  /** Forgets the keys. */
  readonly ended: () => void;
}

interface CopiesPorts {
  readonly keys: Pick<BorrowedKeys, 'copyKey'>;
  readonly loan: Pick<Loan, 'assertLive'>;
  readonly dataFolder: string;
  readonly clock: Clock;
  readonly stopping: AbortSignal;
}

const retryMs = 1000;

/** The copies of the process with this data folder. */
export function createBorrowedCopies({ keys, loan, dataFolder, clock, stopping }: CopiesPorts): BorrowedCopies {
  const copies: (() => Promise<void>)[] = [];
  let owner: string | undefined;
  let opening: Promise<unknown> = Promise.resolve();
  let rebuild: ((onProgress: () => void) => Promise<unknown>) | undefined;
  let progress = 0;
  const onProgress = (): void => void (progress += 1);
  /** The key of the file, and the one before while the file is written again. */
  let key: SubjectKey | undefined;
  let before: SubjectKey | undefined;
  /** The id of the key under which the whole file is. */
  let builtUnder: string | undefined;

  const keyInUse = (): SubjectKey => {
    loan.assertLive();
    if (key === undefined) throw new EventStoreUnavailableError('the key of the copies is on its way from the keeper');
    return key;
  };
  const sealed = createSealedTexts({
    findForCopies: (id) => [keyInUse(), before].find((one) => one?.id === id)?.key,
    keysMade: () => 0,
    // A file under another key cannot be opened, or has values that are erased: it is built again.
    erasedKeys: () => keyInUse().id,
  });
  const texts: SealedTexts = { ...sealed, close: (_, text) => sealed.close(keyInUse().id, text) };

  const rewriteRows = async (): Promise<void> => {
    if (owner === undefined || rebuild === undefined) return;
    const next = await keys.copyKey(owner);
    if (next.id !== key?.id) [before, key] = [key, next];
    if (builtUnder === next.id) return;
    await rebuild(onProgress);
    [before, builtUnder] = [undefined, next.id];
  };
  return {
    openRows: async (open) => {
      const ending = Promise.withResolvers<undefined>();
      opening = ending.promise;
      try {
        owner ??= ownerIn(dataFolder);
        key = await keys.copyKey(owner);
        builtUnder = key.id;
        const rows = await open(texts, onProgress);
        rebuild = rows.rebuild;
        return rows;
      } finally {
        ending.resolve(undefined);
      }
    },
    keep: (rewrite) => void copies.push(rewrite),
    rewrite: async () => {
      await Promise.all(copies.map((rewrite) => rewrite()));
      await opening;
      while (!stopping.aborted) {
        try {
          await rewriteRows();
          return;
        } catch (error) {
          if (!(error instanceof EventStoreUnavailableError)) throw error;
        }
        // The keeper or the store is away: once they are back, it goes on.
        await sleep(clock, retryMs, stopping);
      }
    },
    progress: () => progress,
    ended: () => {
      [key, before] = [undefined, undefined];
    },
  };
}

/** The name of a data folder at the keeper. A folder that is emptied gets another one. */
function ownerIn(dataFolder: string): string {
  makeFolderOf('COUNTERSIGN_DATA', dataFolder);
  const file = join(dataFolder, 'copies.id');
  try {
    writeFileSync(file, randomUUID(), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const id = readFileSync(file, 'utf8').trim();
  if (id !== '') return id;
  throw new Error(`${file} is empty: delete it, and start the process again`);
}
