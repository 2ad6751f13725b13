import { isReadable, systemStream } from '@countersign/contracts';
import type { LogEvent, SystemEvent } from '@countersign/contracts';
import type { EventStore } from '@countersign/event-store';
import { processTenant } from '@countersign/shell';
import type { CheckResult, SystemLog } from '@countersign/shell';
import { followLog } from './follow-log.js';
import type { RoleProcess } from './role-process.js';

const shared = ['tokens', 'policy', 'receipts'] as const;

type Shared = (typeof shared)[number];

const words: Readonly<Record<Shared, string>> = {
  tokens: 'the tokens file',
  policy: 'the policy file',
  receipts: 'the set of receipt keys',
};

interface Said {
  readonly processId: string;
  readonly digest: string;
  readonly at: string;
}

/** The newest records of all processes about the files that must be the same in each. */
export interface Siblings {
  readonly fold: (events: readonly LogEvent[]) => void;
  readonly check: () => CheckResult;
}

const copiedWhy =
  'another process has started with the id of this one: its data folder is a copy. Each records the tokens of the other as removed, and an ' +
  'audit then finds answers without a right. Stop one of the two, remove process.json in its data folder, and start both again';

/**
 * Compares this process with the one that recorded last. Only a process with older files says that they differ. It fails once a process
 * with a copy of its data folder has started: what the record says about the rights here is then wrong.
 */
export function createSiblings({ processId, isOwnStart }: Pick<SystemLog, 'processId' | 'isOwnStart'>): Siblings {
  let start: 'before' | 'own' | 'copied' = 'before';
  const latest = new Map<Shared, Said>();
  const own = new Map<Shared, string>();
  const say = (name: Shared, said: Said): void => {
    latest.set(name, said);
    if (said.processId === processId) own.set(name, said.digest);
  };
  const foldOne = (event: SystemEvent, at: string): void => {
    if (event.type === 'ConfigurationChanged') {
      const { configures, digest, processId: by } = event.data;
      if ((configures === 'tokens' || configures === 'receipts') && digest !== null)
        say(configures, { processId: by, digest, at });
    }
    if (event.type !== 'ProcessStarted') return;
    for (const name of shared) {
      const digest = event.data.files[name];
      if (digest !== undefined) say(name, { processId: event.data.processId, digest, at });
    }
  };
  const foldStart = ({ data }: Extract<SystemEvent, { type: 'ProcessStarted' }>, eventId: string): void => {
    if (data.processId !== processId) return;
    if (isOwnStart(eventId)) start = 'own';
    else if (start === 'own') start = 'copied';
  };
  return {
    fold: (events) => {
      for (const event of events) {
        if (!isReadable(event)) continue;
        const system = event as SystemEvent;
        foldOne(system, event.recordedAt);
        if (system.type === 'ProcessStarted') foldStart(system, event.eventId);
      }
    },
    check: () => {
      if (start === 'copied') return { status: 'failing', why: copiedWhy };
      const notes = shared.flatMap((name) => {
        const [newest, mine] = [latest.get(name), own.get(name)];
        if (newest === undefined || mine === undefined || newest.digest === mine) return [];
        return `${words[name]} of this process is another one than that of process ${newest.processId}, recorded at ${newest.at}`;
      });
      return notes.length === 0 ? { status: 'ok' } : { status: 'ok', note: notes.join('; ') };
    },
  };
}

/** Follows what the processes record about themselves, for a note in `/readyz`. Nothing waits for it. */
export function followSiblings(process: RoleProcess, store: Pick<EventStore, 'subscribe'>, system: SystemLog): void {
  const siblings = createSiblings(system);
  const streams = [systemStream(processTenant, '')];
  const unchecked = { ...process, check: () => undefined };
  process.check({ name: 'same-configuration', check: siblings.check });
  // It rejects when the process is asked to stop.
  followLog(unchecked, 'siblings', store, { streams, onEvents: siblings.fold }).catch(() => undefined);
}
