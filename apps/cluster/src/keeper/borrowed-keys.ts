import { createSecretKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { ErasureKeys, FindKey, StoreKeys, SubjectKey } from '@countersign/event-store';
import { createLruMap } from '@countersign/runtime';
import type { Loan } from './loan.js';
import { idsMax } from './protocol.js';
import type { Answer, Body, RequestName } from './protocol.js';

/** The keys of a keeper, in the memory of this process for as long as they are lent. */
export interface BorrowedKeys extends StoreKeys, ErasureKeys {
  readonly current: (tenant: string, subject: string) => SubjectKey | Promise<SubjectKey>;
  /** The key for the copies of this process. */
  readonly copyKey: (owner: string) => Promise<SubjectKey>;
  /** Forgets every key. Keys that are being requested are not kept either. */
  readonly drop: () => void;
  /** Resolves when no request that was sent before is under way. */
  readonly settled: () => Promise<void>;
}

const keysKept = 4096;

/** Keys that are borrowed through `loan`. */
export function createBorrowedKeys(loan: Pick<Loan, 'ask' | 'assertLive' | 'number' | 'longMs'>): BorrowedKeys {
  const byId = createLruMap<KeyObject | 'erased'>(keysKept);
  const current = createLruMap<SubjectKey>(keysKept);
  const asked = new Map<string, Promise<SubjectKey>>();
  const underWay = new Set<Promise<unknown>>();
  /** How often the keys were dropped. */
  let generation = 0;

  /** `keep` runs when the keys were not dropped since the request was sent. */
  const borrow = <Name extends RequestName>(
    name: Name,
    body: Body<Name>,
    keep: (answer: Answer<Name>) => void = () => undefined,
  ): Promise<Answer<Name>> => {
    const [since, number] = [generation, loan.number()];
    const running = loan.ask(name, body).then((answer) => {
      // It may have been on its way for longer than that loan lasts: the key is perhaps erased.
      loan.assertLive(number);
      if (since === generation) keep(answer);
      return answer;
    });
    underWay.add(running);
    const forget = (): void => void underWay.delete(running);
    running.then(forget, forget);
    return running;
  };
  const fetchCurrent = async (owner: string, tenant: string, subject: string): Promise<SubjectKey> => {
    const answer = await borrow('current', { tenant, subject }, (kept) => {
      current.set(owner, toKey(kept));
    });
    return toKey(answer);
  };
  return {
    current: (tenant, subject) => {
      loan.assertLive();
      const owner = JSON.stringify([tenant, subject]);
      const known = current.get(owner) ?? asked.get(owner);
      if (known !== undefined) return known;
      const asking = fetchCurrent(owner, tenant, subject);
      asked.set(owner, asking);
      const forget = (): void => {
        if (asked.get(owner) === asking) asked.delete(owner);
      };
      asking.then(forget, forget);
      return asking;
    },
    load: async (ids) => {
      loan.assertLive();
      const found = new Map<string, KeyObject | 'erased'>();
      const put = (id: string, key: KeyObject | 'erased' | undefined): void => {
        if (key !== undefined) found.set(id, key);
      };
      for (const id of ids) put(id, byId.get(id));
      const missing = ids.filter((id) => !found.has(id));
      for (let at = 0; at < missing.length; at += idsMax) {
        const answer = await borrow('keys', { ids: missing.slice(at, at + idsMax) }, ({ keys, erased }) => {
          for (const [id, bytes] of Object.entries(keys)) byId.set(id, toKey({ id, bytes }).key);
          for (const id of erased) byId.set(id, 'erased');
        });
        for (const [id, bytes] of Object.entries(answer.keys)) put(id, toKey({ id, bytes }).key);
        for (const id of answer.erased) put(id, 'erased');
      }
      const find: FindKey = (id) => found.get(id) ?? 'missing';
      return find;
    },
    copyKey: async (owner) => toKey(await borrow('copies', { owner })),
    drop: () => {
      generation += 1;
      byId.clear();
      current.clear();
      asked.clear();
    },
    settled: async () => {
      await Promise.allSettled(underWay);
    },
    hashOf: async (tenant, subject) => (await loan.ask('subject', { tenant, subject })).hash,
    idsOf: async (tenant, subject) => (await loan.ask('subject', { tenant, subject })).ids,
    retire: async (tenant, subject) => (await loan.ask('retire', { tenant, subject }, loan.longMs())).ids,
    beginErasing: async (ids) => {
      await loan.ask('begin', { ids: [...ids] });
    },
    keep: async (ids) => {
      await loan.ask('keep', { ids: [...ids] });
    },
    destroy: async (ids) => {
      await loan.ask('destroy', { ids: [...ids] }, loan.longMs());
    },
  };
}

function toKey({ id, bytes }: Answer<'current'>): SubjectKey {
  return { id, key: createSecretKey(Buffer.from(bytes, 'base64')) };
}
