import type { FileKeys, SubjectKey } from '@countersign/event-store';
import type { Erasing } from './erasing.js';
import type { Answer, Body, RequestName } from './protocol.js';
import type { Sessions } from './sessions.js';

/** The dependencies of the keeper. */
export interface KeeperPorts {
  readonly keys: FileKeys;
  readonly sessions: Sessions;
  readonly erasing: Erasing;
}

type Handlers = {
  readonly [Name in RequestName]: (session: string, body: Body<Name>) => Answer<Name> | Promise<Answer<Name>>;
};

/** Lends keys to the other processes of a cluster. */
export interface Keeper {
  /** One for each request; each prolongs the loans of its session. */
  readonly handlers: Handlers;
  readonly keysLent: () => number;
}

/** The keeper over the keys of its folder. */
export function createKeeper({ keys, sessions, erasing }: KeeperPorts): Keeper {
  let keysLent = 0;
  const lend = ({ id, key }: SubjectKey): Answer<'current'> => {
    keysLent += 1;
    return { id, bytes: key.export().toString('base64') };
  };
  const lending: Omit<Handlers, 'follow' | 'leave'> = {
    current: async (_session, { tenant, subject }) => lend(await keys.current(tenant, subject)),
    keys: (_session, { ids }) => {
      const found = ids.map((id) => [id, keys.find(id)] as const);
      const lent = found.flatMap(([id, key]) => (typeof key === 'string' ? [] : [lend({ id, key })]));
      return {
        keys: Object.fromEntries(lent.map(({ id, bytes }) => [id, bytes])),
        erased: found.flatMap(([id, key]) => (key === 'erased' ? [id] : [])),
      };
    },
    copies: (_session, { owner }) => lend(keys.copyKey(owner)),
    subject: (_session, { tenant, subject }) => ({
      hash: keys.hashOf(tenant, subject),
      ids: [...keys.idsOf(tenant, subject)],
    }),
    retire: async (_session, { tenant, subject }) => ({ ids: [...(await erasing.retire(tenant, subject))] }),
    begin: (_session, { ids }) => {
      erasing.begin(ids);
      return {};
    },
    keep: (_session, { ids }) => {
      erasing.giveUp(ids);
      return {};
    },
    destroy: async (_session, { ids }) => {
      await erasing.finish(ids);
      return {};
    },
  };
  // A process counts its loan from before it asks, so the one that is counted here ends later.
  const touching = Object.entries(lending).map(([name, handle]) => [
    name,
    (session: string, body: never) => {
      sessions.touch(session);
      return handle(session, body);
    },
  ]);
  const following: Pick<Handlers, 'follow' | 'leave'> = {
    follow: (session, { confirmed }) => {
      // The numbers of another keeper's life mean nothing.
      if (confirmed.epoch === erasing.version().epoch) sessions.confirm(session, confirmed);
      return { loanMs: sessions.touch(session) };
    },
    leave: (session) => {
      sessions.leave(session);
      return {};
    },
  };
  const handlers = { ...following, ...(Object.fromEntries(touching) as typeof lending) };
  return { handlers, keysLent: () => keysLent };
}
