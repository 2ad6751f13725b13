import {
  createEntriesVerification,
  encodeTenant,
  isOfTenant,
  readAnchors,
  readKeyChanges,
  tileWidth,
  widthAt,
} from '@countersign/audit';
import type { Anchor, CheckName, ComputedTile, EntriesVerification, KnownIds, KnownStreams } from '@countersign/audit';
import { usageError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import { boundedChanges, unverifiedChange } from './key-change-lines.js';
import { createProgress } from './progress.js';
import type { TileReader } from './tile-reader.js';
import { readKeys, readPolicy, readSince } from './trust.js';
import type { VerifyOptions, VerifyOutput } from './verify-log.js';
import { createVerifyReport } from './verify-report.js';

/** A verification of tiles. */
export interface TilesRun {
  readonly output: VerifyOutput;
  readonly options: VerifyOptions;
  readonly streams: KnownStreams;
  readonly ids: KnownIds;
  readonly reader: TileReader;
}

/** Verifies a log that is served or kept as tiles: every entry, every tile of hashes, and the checkpoint. */
export async function verifyTiles({ output, options, streams, ids, reader }: TilesRun): Promise<ExitCode> {
  const [keys, policy] = [readKeys(options.vkey), readPolicy(options.policy)];
  const newest = anchorOf(await reader.checkpoint(), options.tenant);
  const since = sinceOf(newest, options);
  const lines = boundedChanges('The source', await reader.keyChanges());
  const changes = readKeyChanges(lines);
  const report = createVerifyReport(output, options.all === true);
  const verification = createEntriesVerification({
    ...{ keys, policy, changes, since, newest, streams, ids, onFinding: report.onFinding },
  });
  if (changes.length < lines.length) verification.note({ check: 'tree', detail: unverifiedChange });
  const progress = createProgress(output, newest.size, 'events');
  try {
    for (let index = 0; verification.size() < newest.size; index += 1) {
      if (output.terminal.interrupted.aborted) return exitCodes.interrupted;
      if (!(await takeTile(reader, verification, newest, index))) break;
      progress.show(verification.size(), verification.size());
    }
    await compareAll(reader, verification, verification.openTiles());
  } finally {
    progress.clear();
  }
  const end = verification.end();
  const checks: readonly CheckName[] = [
    ...(['read', 'order', 'tree'] as const),
    ...(keys.length > 0 || policy !== undefined ? (['signature'] as const) : []),
    ...(since.length > 0 ? (['since'] as const) : []),
  ];
  report.end({ ...end, tenant: options.tenant ?? newest.encodedTenant }, checks);
  return end.exit;
}

function anchorOf(note: string, tenant: string | undefined): Anchor {
  const [anchor, ...more] = readAnchors(note) ?? [];
  if (anchor === undefined || more.length > 0) {
    throw usageError(
      'The checkpoint of the tiles cannot be read.',
      'Name a folder or an address of tiles. That of a server ends with /v1/log.',
    );
  }
  if (tenant !== undefined && !isOfTenant(anchor, tenant)) {
    throw usageError(
      `The tiles are of ${anchor.origin}, not of the tenant "${encodeTenant(tenant)}".`,
      'Check --tenant.',
    );
  }
  return anchor;
}

function sinceOf({ encodedTenant, origin }: Anchor, { since: kept }: VerifyOptions): readonly Anchor[] {
  const since = readSince(kept).filter((anchor) => anchor.encodedTenant === encodedTenant);
  if (kept === undefined || since.length > 0) return since;
  throw usageError(`--since: its checkpoints are of another log than ${origin}.`, 'Name the ones of this log.');
}

/** Takes the entries of a tile, and compares the tiles of hashes that they complete. Returns false where it cannot go on. */
async function takeTile(
  reader: TileReader,
  verification: EntriesVerification,
  { size }: Anchor,
  index: number,
): Promise<boolean> {
  const width = widthAt(size, 0, index);
  const entries = (await reader.entries({ level: 'entries', index, width })) ?? [];
  for (const entry of entries) verification.take(entry);
  await compareAll(reader, verification, verification.fullTiles());
  if (entries.length === width) return true;
  verification.note({ check: 'read', detail: `tile ${String(index)} of entries is not there, or cannot be read` });
  return false;
}

async function compareAll(
  reader: TileReader,
  verification: EntriesVerification,
  tiles: readonly ComputedTile[],
): Promise<void> {
  for (const tile of tiles) {
    const { level, index, hashes } = tile;
    verification.compareTile(tile, await reader.hashes({ level, index, width: Math.min(hashes.length, tileWidth) }));
  }
}

/** Returns whether an address is one of tiles, or could be. */
export function isTileUrl(source: string): boolean {
  return /^https?:\/\//.test(source);
}
