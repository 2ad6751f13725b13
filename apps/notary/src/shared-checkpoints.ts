import { encodeTenant } from '@countersign/audit';
import { noStream, recordStreamPrefix } from '@countersign/event-store';
import type { Kept, KeptRecord, RecordStreams } from '@countersign/event-store';
import type { Ids } from '@countersign/runtime';
import type { KeptCheckpoint, KeptKeyChange } from './sqlite/checkpoint-file.js';

/** What all notaries of a cluster know of a tenant's checkpoints. */
export interface SharedState {
  /** The revision of the last record; -1: nothing was signed. */
  readonly revision: number;
  /** The newest checkpoint of each epoch. */
  readonly kept: readonly KeptCheckpoint[];
  /** The changes of the log key, the first one first. */
  readonly keyChanges: readonly KeptKeyChange[];
}

/**
 * The checkpoints that the notaries of a cluster signed, in the store. A notary keeps a checkpoint there before anyone sees
 * it, at the revision after the last that it knows: one that knows less than all must read first.
 */
export interface SharedCheckpoints {
  /** The tenants of which a checkpoint was signed. */
  readonly tenants: () => Promise<readonly string[]>;
  readonly of: (tenant: string) => Promise<SharedState>;
  /** Keeps the newest checkpoint of each epoch, and the changes of the log key. */
  readonly keep: (tenant: string, revision: number, state: Omit<SharedState, 'revision'>) => Promise<Kept>;
}

const tenantsStream = `${recordStreamPrefix}checkpoint-tenants`;
const tenantsMax = 1_000_000;

/** Checkpoints in streams of records: one for each tenant, and a list of the tenants. */
export function createSharedCheckpoints(records: RecordStreams, ids: Pick<Ids, 'uuid'>): SharedCheckpoints {
  const listed = async (): Promise<readonly KeptRecord[]> => records.newest(tenantsStream, tenantsMax);
  /** Attack: every event of a tenant is gone, and a new notary does not look for its checkpoint. */
  const list = async (tenant: string): Promise<void> => {
    for (;;) {
      const found = await listed();
      if (found.some(({ data }) => data['tenant'] === tenant)) return;
      const record = { id: ids.uuid(), type: 'TenantSigned', data: { tenant } };
      const { status } = await records.keep(tenantsStream, found[0]?.revision ?? noStream, record);
      if (status === 'kept') return;
    }
  };
  return {
    tenants: async () =>
      (await listed()).flatMap(({ data }) => (typeof data['tenant'] === 'string' ? [data['tenant']] : [])),
    of: async (tenant) => {
      const [last] = await records.newest(streamOf(tenant), 1);
      if (last === undefined) return { revision: noStream, kept: [], keyChanges: [] };
      return { revision: last.revision, kept: readEpochs(tenant, last), keyChanges: readChanges(last) };
    },
    keep: async (tenant, revision, { kept, keyChanges }) => {
      if (revision === noStream) await list(tenant);
      const epochs = kept.map(({ epoch, note }) => ({ epoch, note }));
      const changes = keyChanges.map(({ vkeys, ...change }) => ({ ...change, vkeys: [...vkeys] }));
      const data = { tenant, epochs, ...(changes.length > 0 && { keyChanges: changes }) };
      return records.keep(streamOf(tenant), revision, { id: ids.uuid(), type: 'CheckpointSigned', data });
    },
  };
}

function streamOf(tenant: string): string {
  return `${recordStreamPrefix}checkpoints-of-${encodeTenant(tenant)}`;
}

function readEpochs(tenant: string, { data }: KeptRecord): readonly KeptCheckpoint[] {
  const epochs: readonly unknown[] = Array.isArray(data['epochs']) ? data['epochs'] : [];
  const kept = epochs.flatMap((one) => {
    const { epoch, note } = (one ?? {}) as Readonly<Record<string, unknown>>;
    return Number.isSafeInteger(epoch) && typeof note === 'string' ? [{ tenant, epoch: Number(epoch), note }] : [];
  });
  if (data['tenant'] === tenant && kept.length > 0 && kept.length === epochs.length) return kept;
  throw new Error(`the record of the newest checkpoint of tenant "${tenant}" in the event store cannot be read`);
}

/** Those that are whole. What they say is verified by who uses it. */
function readChanges({ data }: KeptRecord): readonly KeptKeyChange[] {
  const changes: readonly unknown[] = Array.isArray(data['keyChanges']) ? data['keyChanges'] : [];
  return changes.flatMap((one) => {
    const { epoch, size, proof, vkeys } = (one ?? {}) as Readonly<Record<string, unknown>>;
    if (!Number.isSafeInteger(epoch) || !Number.isSafeInteger(size) || typeof proof !== 'string') return [];
    const keys: readonly unknown[] = Array.isArray(vkeys) ? vkeys : [];
    return [{ epoch: Number(epoch), size: Number(size), proof, vkeys: keys.map(String) }];
  });
}
