import { randomBytes, randomUUID } from 'node:crypto';
import { createSecretKey } from 'node:crypto';
import { hostname } from 'node:os';
import { createRequestHash, createSealedStore, requestsOwner } from '@countersign/event-store';
import type { ErasureKeys, EventStore, RequestHash, SealedStore, SubjectKey } from '@countersign/event-store';
import type { RuntimePorts } from '@countersign/shell';
import { createBorrowedCopies } from './borrowed-copies.js';
import type { BorrowedCopies } from './borrowed-copies.js';
import { createBorrowedKeys } from './borrowed-keys.js';
import type { BorrowedKeys } from './borrowed-keys.js';
import { createKeeperClient } from './keeper-client.js';
import type { KeeperConnection } from './keeper-client.js';
import { createLoan } from './loan.js';
import type { Loan } from './loan.js';

/** The dependencies of the keys: those of the process. */
export interface VaultPorts extends Pick<RuntimePorts, 'clock' | 'log'> {
  readonly stopping: AbortSignal;
  /** Registers a step of the shutdown. */
  readonly onStop: (stop: () => void | Promise<void>) => void;
  /** Ends the process. */
  readonly fail: (why: string) => void;
}

/** The keys that a process borrows, and its copies of values. */
export interface Vault {
  /** An erasure waits in them for the appends and the copies of all processes. */
  readonly keys: ErasureKeys;
  /** The log, whose readers see the values. */
  readonly store: SealedStore<EventStore>;
  /** Opens the read model, a copy that is built again after each erasure. Its rows are encrypted. */
  readonly openRows: BorrowedCopies['openRows'];
  /** For the known requests. */
  readonly requestHash: () => RequestHash;
  /** Adds a copy that this process keeps, and how to write it again without the values that read as erased. */
  readonly keepCopy: BorrowedCopies['keep'];
  /** Adds a copy in memory, which is forgotten. */
  readonly keepInMemory: (forget: () => void) => void;
}

/**
 * The keys of a keeper over the log of the cluster. The keeper says when other values read as erased; then this process
 * writes its copies again.
 * @throws KeysUnavailableError; KeeperRefusedError naming the setting.
 */
export async function borrowVault(
  { clock, log, fail, stopping, onStop }: VaultPorts,
  { connection, dataFolder }: { readonly connection: KeeperConnection; readonly dataFolder: string },
  raw: EventStore,
): Promise<Vault> {
  // The keeper's log names a session that does not confirm.
  const session = `${hostname().slice(0, 100)}/${String(process.pid)}/${randomUUID()}`;
  const client = createKeeperClient(connection, session, clock);
  const loan = createLoan({ client, clock, log, stopping });
  const keys = createBorrowedKeys(loan);
  const store = createSealedStore(raw, { keys, log });
  const copies = createBorrowedCopies({ keys, loan, dataFolder, clock, stopping });
  const hashes = createRequestHashes(keys, loan);
  const memory: (() => void)[] = [];
  try {
    await loan.begin({
      drop: keys.drop,
      settled: async () => {
        await Promise.all([store.settled(), keys.settled()]);
      },
      forget: () => {
        for (const forget of memory) forget();
      },
      rewrite: async () => {
        try {
          await copies.rewrite();
        } catch (error) {
          log.error({ error }, 'the copies of erased values could not be written again');
          fail('the copies of erased values could not be written again: the next start builds them from the log');
          throw error;
        }
      },
      progress: copies.progress,
      ended: () => {
        copies.ended();
        hashes.forget();
      },
    });
    await keys.current(...requestsOwner);
  } catch (error) {
    client.close();
    throw error;
  }
  const running = loan.run();
  onStop(async () => {
    await running;
    keys.drop();
    await client.ask('leave', {}).catch((error: unknown) => {
      log.debug({ error }, 'the keeper waits until the loan of this process ends');
    });
    client.close();
  });
  return {
    keys,
    store,
    openRows: copies.openRows,
    requestHash: hashes.current,
    keepCopy: copies.keep,
    keepInMemory: (forget) => void memory.push(forget),
  };
}

/** The hash of requests, whose key all gateways share; without a loan, one of this process's own. */
function createRequestHashes(keys: Pick<BorrowedKeys, 'current'>, loan: Pick<Loan, 'isLive'>) {
  const own = createRequestHash({ id: randomUUID(), key: createSecretKey(randomBytes(32)) });
  let used: { readonly id: string; readonly hash: RequestHash } | undefined;
  const use = (key: SubjectKey): void => {
    if (key.id !== used?.id) used = { id: key.id, hash: createRequestHash(key) };
  };
  return {
    current: (): RequestHash => {
      if (!loan.isLive()) return own;
      const key = keys.current(...requestsOwner);
      // An erasure may be replacing it right now: until the new one is here, the last one is used.
      if (key instanceof Promise) key.then(use, () => undefined);
      else use(key);
      return used?.hash ?? own;
    },
    forget: (): void => {
      used = undefined;
    },
  };
}
