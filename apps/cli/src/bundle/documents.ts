import { existsSync, readFileSync } from 'node:fs';
import { eventColumns, toCsv } from '@countersign/exports';
import { localError } from '../cli-error.js';
import { bundleFiles } from './layout.js';
import type { Manifest } from './layout.js';
import { readmeOf } from './readme.js';

/** The texts that come with every bundle, by their names. */
export function documentsOf(manifest: Omit<Manifest, 'files'>, verifier: string): Readonly<Record<string, string>> {
  return {
    [bundleFiles.readme]: readmeOf(manifest),
    [bundleFiles.columns]: columnsTable(),
    [bundleFiles.verifier]: verifier,
  };
}

/** Each column of the tables in `views/`, explained. */
function columnsTable(): string {
  const rows = eventColumns.map(({ name, type, explanation }) => ({ name, type, explanation }));
  return toCsv(['name', 'type', 'explanation'], rows);
}

/** The text of the verifier that is one file. @throws CliError where the program was not built */
export function readVerifier(): string {
  // From `bundle/`, and from a module in `dist/bundle/`.
  const places = ['./verify.mjs', '../../bundle/verify.mjs'].map((place) => new URL(place, import.meta.url));
  const found = places.find((place) => existsSync(place));
  if (found !== undefined) return readFileSync(found, 'utf8');
  throw localError('unexpected', 'no-verifier', 'verify.mjs was not built.', 'Run `npm run build`.');
}
