import { randomBytes, randomUUID } from 'node:crypto';
import { createSecretKey } from 'node:crypto';
import { answersOwner, createSealedAnswers, createSealedStore } from '@countersign/event-store';
import type { EventStore, SealedAnswers, SubjectKey } from '@countersign/event-store';
import type { Vault, VaultPorts } from '../vault.js';
import { createBorrowedCopies } from './borrowed-copies.js';
import { createBorrowedKeys } from './borrowed-keys.js';
import type { BorrowedKeys } from './borrowed-keys.js';
import { createKeeperClient } from './keeper-client.js';
import type { KeeperConnection } from './keeper-client.js';
import { createLoan } from './loan.js';
import type { Loan } from './loan.js';

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
  const client = createKeeperClient(connection, randomUUID(), clock);
  const loan = createLoan({ client, clock, log, stopping });
  const keys = createBorrowedKeys(loan);
  const store = createSealedStore(raw, { keys, log });
  const copies = createBorrowedCopies({ keys, loan, dataFolder, clock, stopping });
  const answers = createAnswers(keys, loan);
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
      ended: () => {
        copies.ended();
        answers.forget();
      },
    });
    await keys.current(...answersOwner);
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
    answersKey: { answers: answers.current, renew: () => Promise.resolve() },
    keepCopy: copies.keep,
    keepInMemory: (forget) => void memory.push(forget),
    // `retire` waits for the appends of all processes, and `destroy` for their copies.
    othersSettled: () => Promise.resolve(),
    rewriteEverywhere: () => Promise.resolve(),
    finishErasures: () => Promise.resolve(false),
    learnsFromLog: false,
  };
}

/** The key of the stored responses, which all gateways share; without a loan, one of this process's own. */
function createAnswers(keys: Pick<BorrowedKeys, 'current'>, loan: Pick<Loan, 'isLive'>) {
  const own = createSealedAnswers({ id: randomUUID(), key: createSecretKey(randomBytes(32)) });
  let used: { readonly id: string; readonly answers: SealedAnswers } | undefined;
  const use = (key: SubjectKey): void => {
    if (key.id !== used?.id) used = { id: key.id, answers: createSealedAnswers(key) };
  };
  return {
    current: (): SealedAnswers => {
      if (!loan.isLive()) return own;
      const key = keys.current(...answersOwner);
      // An erasure may be replacing it right now: until the new one is here, the last one is used.
      if (key instanceof Promise) key.then(use, () => undefined);
      else use(key);
      return used?.answers ?? own;
    },
    forget: (): void => {
      used = undefined;
    },
  };
}
