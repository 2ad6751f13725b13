import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isBundle } from '../audit/bundle/read-manifest.js';
import { openBundle } from '../audit/bundle/bundle-source.js';
import { openExportFile } from '../audit/export-file.js';
import type { LogSource } from '../audit/log-source.js';
import { createSpilledIds } from '../audit/spilled-ids.js';
import type { SpilledIds } from '../audit/spilled-ids.js';
import { openTileFolder, openTileUrl } from '../audit/tile-reader.js';
import { verifyLog } from '../audit/verify-log.js';
import type { VerifyOptions, VerifyOutput } from '../audit/verify-log.js';
import { readProofFile, verifyProof } from '../audit/verify-proof.js';
import { refuseStamps } from '../audit/refuse-stamps.js';
import type { OpenJudge } from '../audit/timestamps.js';
import { isTileUrl, verifyTiles } from '../audit/verify-tiles.js';
import { CliError, usageError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { openDataFolder } from '../sqlite/data-folder.js';
import { createSpilledStreams } from '../sqlite/spilled-streams.js';
import type { SpilledStreams } from '../sqlite/spilled-streams.js';

/** The parts in which the command differs from `verify.mjs`, the verifier in one file. */
export interface VerifyParts {
  readonly openJudge: OpenJudge;
  readonly streams?: SpilledStreams;
}

/** `countersign audit verify`: checks a log against what the auditor kept, and its events against the rules. */
export async function verify(
  output: VerifyOutput,
  named: string | undefined,
  options: VerifyOptions,
  { openJudge, streams = createSpilledStreams() }: VerifyParts,
): Promise<ExitCode> {
  const path = named ?? output.terminal.env['COUNTERSIGN_DATA'] ?? './data';
  const ids = createSpilledIds();
  try {
    return await verifySource({ output, path, options, streams, ids, openJudge });
  } catch (error) {
    // 1 means a finding: what cannot be read is none.
    throw error instanceof CliError ? error : usageError(`${path} cannot be verified: ${messageOf(error)}.`);
  } finally {
    streams.close();
    ids.close();
  }
}

interface Source {
  readonly output: VerifyOutput;
  readonly path: string;
  readonly options: VerifyOptions;
  readonly streams: SpilledStreams;
  readonly ids: SpilledIds;
  readonly openJudge: OpenJudge;
}

async function verifySource({ path, ...run }: Source): Promise<ExitCode> {
  const { output, options } = run;
  if (isTileUrl(path)) {
    refuseStamps(options);
    const token = options.token ?? output.terminal.env['COUNTERSIGN_TOKEN'];
    const reader = openTileUrl(path, token, output.terminal.interrupted);
    return verifyTiles({ ...run, reader });
  }
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  const proof = isFile ? readProofFile(path) : undefined;
  if (proof !== undefined || isTileFolder(path)) refuseStamps(options);
  if (proof !== undefined) return verifyProof(output, proof, options);
  if (isTileFolder(path)) return verifyTiles({ ...run, reader: openTileFolder(path) });
  return verifyLog({ ...run, openSource: () => openSource(path) });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A folder of tiles has no log of ours and no list of files. */
function isTileFolder(path: string): boolean {
  const isOther = existsSync(join(path, 'events.db')) || isBundle(path);
  return !isOther && existsSync(join(path, 'checkpoint')) && existsSync(join(path, 'tile'));
}

function openSource(source: string): LogSource {
  const path = resolve(source);
  const stats = existsSync(path) ? statSync(path) : undefined;
  if (path.endsWith('.zip')) throw usageError(`${path} is a zip file.`, 'Unpack it, and name the folder.');
  if (stats?.isFile() === true) return openExportFile(path);
  if (stats !== undefined && existsSync(join(path, 'events.db'))) return openDataFolder(path);
  if (stats !== undefined && isBundle(path)) return openBundle(path);
  throw usageError(
    `There is no log in ${path}.`,
    'Name a data folder, a bundle, an export, tiles or a proof, or set COUNTERSIGN_DATA.',
  );
}
