import { isReadable } from '@countersign/contracts';
import type {
  ConfigurationKind,
  CredentialRights,
  LogEvent,
  SystemEvent,
  SystemEventData,
} from '@countersign/contracts';

/** What a process recorded last about a tenant: the fold of its stream. */
export interface Recorded {
  /** -1: nothing is recorded. */
  readonly revision: number;
  /** The rights by credential. */
  readonly credentials: ReadonlyMap<string, CredentialRights>;
  /** The digests of the configuration; without those that were never recorded. */
  readonly digests: ReadonlyMap<ConfigurationKind, string>;
  /** The digest of the root key at the last start. */
  readonly rootKey: string | undefined;
  /** The lost end of the log, until a person acknowledges it; otherwise undefined. */
  readonly lostEnd: { readonly from: number; readonly to: number; readonly isRestored?: true } | undefined;
  /** Where the backup ended that this log was restored from; undefined: it was not restored. */
  readonly restoredTo: number | undefined;
  /** The ids of the newest backups, at most 100. */
  readonly backups: readonly string[];
  /** The checkpoint that the log contradicted when its end was accepted last; undefined: none was named. */
  readonly contradicted: { readonly checkpoint: string; readonly revision: number } | undefined;
  /** The change of the log key that was recorded last. */
  readonly logKey: { readonly keys: ChangedKeys; readonly revision: number } | undefined;
}

/** The vkeys of a change of the log key. */
export type ChangedKeys = Pick<Extract<SystemEvent, { type: 'LogKeyChanged' }>['data'], 'before' | 'after' | 'mlDsa'>;

export const nothingRecorded: Recorded = {
  revision: -1,
  credentials: new Map(),
  digests: new Map(),
  rootKey: undefined,
  lostEnd: undefined,
  restoredTo: undefined,
  backups: [],
  contradicted: undefined,
  logKey: undefined,
};

/** The fold of a stream. After an event that cannot be read nothing is known, so all is recorded again. */
export function foldRecorded(events: readonly LogEvent[]): Recorded {
  return events.reduce(
    (before, event) =>
      isReadable(event)
        ? afterEvent(before, event as SystemEvent & { readonly revision: number })
        : { ...nothingRecorded, revision: event.revision },
    nothingRecorded,
  );
}

const backupsMax = 100;

/** The state after one more event. */
export function afterEvent(before: Recorded, event: SystemEvent & { readonly revision: number }): Recorded {
  const { revision } = event;
  switch (event.type) {
    case 'ConfigurationChanged': {
      const { configures, digest, added, changed, removed } = event.data;
      const digests = digest === null ? before.digests : new Map([...before.digests, [configures, digest]]);
      if (added.length + changed.length + removed.length === 0) return { ...before, revision, digests };
      const credentials = new Map(before.credentials);
      for (const one of [...added, ...changed]) if (one.credential !== undefined) credentials.set(one.credential, one);
      for (const { credential } of removed) if (credential !== undefined) credentials.delete(credential);
      return { ...before, revision, digests, credentials };
    }
    case 'ProcessStarted':
      return { ...before, revision, rootKey: event.data.files['rootKey'] ?? before.rootKey };
    case 'LogEndAccepted':
      return { ...before, revision, ...ofAcceptedEnd(event.data, revision) };
    case 'LogRestored':
      return { ...before, revision, ...ofRestore(event.data, revision) };
    case 'Backup':
      return { ...before, revision, backups: [...before.backups, event.data.backupId].slice(-backupsMax) };
    case 'LogKeyChanged': {
      const { processId, changedAt, ...keys } = event.data;
      return { ...before, revision, logKey: { keys, revision } };
    }
    case 'ConfigurationRefused':
    case 'KeysRotated':
    case 'SignedIn':
    case 'SignInRefused':
    case 'AuditRead':
    case 'StopDeclared':
    case 'StopLifted':
      return { ...before, revision };
  }
}

function ofRestore({ from, to, checkpoint }: SystemEventData<'LogRestored'>, revision: number): Partial<Recorded> {
  if (from === undefined || to === undefined) return {};
  const lostEnd = { from, to, isRestored: true } as const;
  return { lostEnd, restoredTo: to, ...(checkpoint !== null && { contradicted: { checkpoint, revision } }) };
}

function ofAcceptedEnd(
  { from, to, by, checkpoint }: SystemEventData<'LogEndAccepted'>,
  revision: number,
): Partial<Recorded> {
  const lostEnd = by === undefined ? { from, to } : undefined;
  return checkpoint === undefined ? { lostEnd } : { lostEnd, contradicted: { checkpoint, revision } };
}
