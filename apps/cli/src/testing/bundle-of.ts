import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readAnchors } from '@countersign/audit';
import type { StoredEvent } from '@countersign/contracts';
import { documentsOf } from '../bundle/documents.js';
import { exportBundle } from '../bundle/export-bundle.js';
import type { ExportPorts } from '../bundle/export-bundle.js';
import type { Manifest } from '../bundle/layout.js';
import { hashFile } from '../bundle/manifest.js';

/** What a bundle is made of in a test. */
export interface BundleOf {
  readonly events: readonly StoredEvent[];
  /** The checkpoint; absent: the log has none. */
  readonly note?: string;
  readonly values?: 'stored' | 'clear';
  /** Called before each event. */
  readonly onEvent?: (index: number) => void;
  readonly interrupted?: AbortSignal;
  readonly onProgress?: ExportPorts['onProgress'];
}

/** Exports events of the tenant `default` into a folder, as the command does. */
export async function exportTo(folder: string, { events, note, values = 'stored', onEvent, ...others }: BundleOf) {
  const notes = note === undefined ? [] : [note];
  const ports: ExportPorts = {
    folder,
    plan: () => ({ tenant: 'default', values, size: sizeOf(note), head: events.length, notes }),
    eventsAfter: function* (position) {
      for (const [index, stored] of events.entries()) {
        if (index < position) continue;
        onEvent?.(index);
        yield { stored, damage: [], done: index + 1 };
      }
    },
    newest: (kept) => kept.flatMap((text) => (readAnchors(text) ?? []).map((anchor) => ({ anchor, note: text }))),
    documents: (facts) => documentsOf(facts, '// the verifier\n'),
    onProgress: () => undefined,
    savedEvery: 256,
    interrupted: new AbortController().signal,
    ...others,
  };
  return exportBundle(ports);
}

function sizeOf(note: string | undefined): number | null {
  return note === undefined ? null : (readAnchors(note)?.[0]?.size ?? null);
}

/** Makes the manifest say what the files are now, as a forger does. */
export function rewriteManifest(folder: string, change: (manifest: Manifest) => Manifest = (same) => same): void {
  const file = join(folder, 'manifest.json');
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as Manifest;
  const paths = Object.keys(manifest.files).filter((path) => existsSync(join(folder, path)));
  const files = Object.fromEntries(paths.map((path) => [path, hashFile(join(folder, path))]));
  writeFileSync(file, `${JSON.stringify(change({ ...manifest, files }), null, 1)}\n`);
}
