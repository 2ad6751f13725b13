import type { StatementSync } from 'node:sqlite';
import { grantEventTypes, grantStream } from '@countersign/contracts';
import type { GrantEvent, RecordedEvent } from '@countersign/contracts';
import { grantDecider, isExhausted } from '@countersign/domain';
import type { Grant } from '@countersign/domain';
import type { GrantReads } from '../grants.js';
import type { UnreadableReads } from '../read-model.js';
import { toStoredText } from './database.js';
import type { RowSeal } from './database.js';
import { grantColumns, listGrants, toGrantRow } from './grants-list.js';
import type { Columns } from './stored-row.js';

/** The grants of an opened file, and those that are not in it yet. */
export interface GrantRows extends Omit<GrantReads, 'list'> {
  readonly fold: (event: RecordedEvent) => void;
  /** Writes the changed grants. Call it in a transaction. */
  readonly write: () => void;
  /** Call it when the changed rows are in the file. */
  readonly flushed: () => void;
  /** Reads the file: flush first. */
  readonly list: (position: number, ...given: Parameters<GrantReads['list']>) => ReturnType<GrantReads['list']>;
}

interface Row {
  /** The position of its first event. */
  readonly seq: number;
  readonly grant: Grant;
  /** The key of its salt; null: it has none. */
  readonly sealKey: string | null;
}

type Prepare = (sql: string) => StatementSync;

const types: ReadonlySet<string> = new Set(grantEventTypes);
/** How long an expired grant is kept in memory: a clock may be put back. */
const keptMs = 86_400_000;
/** The newest calls of a grant that a row names. */
const callIdsMax = 20;

const upsert = `INSERT INTO grants VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (seq) DO UPDATE SET status = excluded.status, progress = excluded.progress`;

/** The grants over an opened file, whose salts are encrypted there. One whose stream is set aside is not live. */
export function createGrantRows(
  prepare: Prepare,
  unreadable: Pick<UnreadableReads, 'find'>,
  seal?: RowSeal,
): GrantRows {
  const dirty = new Map<string, Row>();
  /** By tenant and tool; undefined until the first query. */
  let live: Map<string, Map<string, Row>> | undefined;

  const toRow = (columns: Columns): Row => ({ seq: Number(columns['seq']), ...toGrantRow(columns) });
  const load = (grantId: string): Row | undefined => {
    const known = dirty.get(grantId);
    if (known !== undefined) return known;
    const found = prepare(`SELECT ${grantColumns} FROM grants WHERE grant_id = ?`).get(grantId);
    return found === undefined ? undefined : toRow(found);
  };
  const index = (row: Row): void => {
    const { grantId, tenant, toolName } = row.grant.terms;
    const key = keyOf(tenant, toolName);
    const ofTool = live?.get(key);
    if (row.grant.status === 'revoked') ofTool?.delete(grantId);
    else if (ofTool === undefined) live?.set(key, new Map([[grantId, row]]));
    else ofTool.set(grantId, row);
  };
  const loaded = (atMs: number): Map<string, Map<string, Row>> => {
    if (live !== undefined) return live;
    live = new Map();
    const query = prepare(
      `SELECT ${grantColumns} FROM grants WHERE status <> 'revoked' AND expires_at > ? ORDER BY seq`,
    );
    for (const columns of query.iterate(new Date(atMs - keptMs).toISOString())) index(toRow(columns));
    for (const row of dirty.values()) index(row);
    return live;
  };
  /** Those of one tool that have not expired. */
  const unexpired = (ofTool: Map<string, Row>, atMs: number): readonly Grant[] => {
    const now = new Date(atMs).toISOString();
    const long = new Date(atMs - keptMs).toISOString();
    const grants: Grant[] = [];
    for (const [grantId, { grant }] of ofTool) {
      if (unreadable.find(grantStream(grantId)) !== undefined) continue;
      if (grant.terms.expiresAt > now) grants.push(grant);
      else if (grant.terms.expiresAt < long) ofTool.delete(grantId);
    }
    return grants;
  };
  return {
    fold: (event) => {
      if (!types.has(event.type)) return;
      const { type, data } = event as unknown as GrantEvent;
      const before = event.revision === 0 ? undefined : load(data.grantId);
      const state = grantDecider.evolve(before?.grant ?? grantDecider.initialState(), { type, data } as GrantEvent);
      if (state.status === 'unknown') return;
      const row = {
        seq: before?.seq ?? event.position,
        grant: { ...state, callIds: state.callIds.slice(-callIdsMax) },
        sealKey: sealKeyOf(event, before),
      };
      dirty.set(data.grantId, row);
      index(row);
    },
    write: () => {
      for (const { seq, grant, sealKey } of dirty.values()) {
        const { grantId, tenant, toolName, expiresAt } = grant.terms;
        const status = grant.status !== 'revoked' && isExhausted(grant) ? 'exhausted' : grant.status;
        prepare(upsert).run(
          seq,
          grantId,
          tenant,
          toolName,
          status,
          expiresAt,
          toStoredText(seal, sealKey, JSON.stringify([sealKey, grant])),
        );
      }
    },
    flushed: () => {
      dirty.clear();
    },
    live: (tenant, toolName, atMs) => {
      const ofTool = loaded(atMs).get(keyOf(tenant, toolName));
      return ofTool === undefined ? [] : unexpired(ofTool, atMs);
    },
    liveCount: (tenant, atMs) => {
      let count = 0;
      for (const ofTool of loaded(atMs).values()) {
        count += unexpired(ofTool, atMs).filter(({ terms }) => terms.tenant === tenant).length;
      }
      return count;
    },
    ofRun: (tenant, runId, atMs) =>
      [...loaded(atMs).values()]
        .flatMap((ofTool) => unexpired(ofTool, atMs))
        .map(({ terms }) => terms)
        .filter((terms) => terms.tenant === tenant && terms.runId === runId),
    find: (tenant, grantId) => {
      const grant = load(grantId)?.grant;
      return grant?.terms.tenant === tenant ? grant : undefined;
    },
    list: (position, tenant, query, atMs) => listGrants(prepare, tenant, query, { position, atMs }),
  };
}

/** The first event of a grant has the salt. */
function sealKeyOf({ metadata }: RecordedEvent, before: Row | undefined): string | null {
  return before === undefined ? (metadata.sealed?.key ?? null) : before.sealKey;
}

function keyOf(tenant: string, toolName: string): string {
  return JSON.stringify([tenant, toolName]);
}
