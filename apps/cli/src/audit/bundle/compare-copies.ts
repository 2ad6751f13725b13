import { formatTilePath } from '@countersign/audit';
import type { Entry, Hash } from '@countersign/audit';
import { systemStreamPrefix } from '@countersign/contracts';
import type { StoredEvent } from '@countersign/contracts';
import { createTiles } from '../../bundle/tile-files.js';
import { bundleFiles, tilesFile } from '../../bundle/layout.js';
import type { Manifest } from '../../bundle/layout.js';
import { builtInPolicyData, policyIn } from '../../bundle/policies.js';
import type { PolicyFile } from '../../bundle/policies.js';
import type { Damage } from '../log-source.js';
import type { BundleFiles } from './bundle-files.js';

/** Compares the tree, the policies and the system events of a bundle with its events: all are copies of what these say. */
export interface ComparedCopies {
  readonly take: (event: Copied) => readonly Damage[];
  readonly end: () => readonly Damage[];
  /** The root of the tree over the events so far. */
  readonly root: () => Hash;
}

/** An event, and what copies of it are made from. */
export interface Copied {
  readonly index: number;
  readonly entry: Entry;
  /** The entry as the tree has it. */
  readonly entryText: string;
  readonly stored: StoredEvent | undefined;
  /** The line of the event, as it stands in the bundle. */
  readonly line: string;
}

export function compareCopies(files: BundleFiles, manifest: Manifest): ComparedCopies {
  const system = files.open(bundleFiles.system);
  const policies = new Set<string>();
  let [damage, isSystemWhole]: [Damage[], boolean] = [[], true];
  const about = (index: number, path: string): void => {
    damage.push({ check: 'files', index, detail: `${path} is missing, or is not the one of the events` });
  };
  const tiles = createTiles(({ level, index, width }, bytes) => {
    const path = tilesFile(formatTilePath({ level, index, width }));
    const leaves = level === 'entries' ? 256 : 256 ** (level + 1);
    if (!files.isExactly(path, bytes)) about(index * leaves, path);
  });
  const taken = (): readonly Damage[] => {
    const found = damage;
    damage = [];
    return found;
  };
  return {
    root: tiles.root,
    take: ({ index, entry, entryText, stored, line }) => {
      tiles.append(entryText);
      if (entry.stream.startsWith(systemStreamPrefix) && isSystemWhole && system?.next()?.text !== line) {
        isSystemWhole = false;
        about(index, bundleFiles.system);
      }
      const policy = policyOf(stored);
      if (policy !== undefined && !policies.has(policy.path)) {
        policies.add(policy.path);
        if (!files.isExactly(policy.path, Buffer.from(policy.text))) about(index, policy.path);
      }
      return damage.length === 0 ? damage : taken();
    },
    end: () => {
      tiles.end();
      if (system === undefined || (isSystemWhole && system.next() !== undefined)) about(0, bundleFiles.system);
      const builtIn = policyIn(builtInPolicyData(manifest.tenant));
      // A bundle of an earlier version does not have it.
      const hasBuiltIn = builtIn !== undefined && Object.hasOwn(manifest.files, builtIn.path);
      if (hasBuiltIn && !files.isExactly(builtIn.path, Buffer.from(builtIn.text))) about(0, builtIn.path);
      return [...taken(), ...(system?.end() ?? [])];
    },
  };
}

function policyOf(stored: StoredEvent | undefined): PolicyFile | undefined {
  return stored === undefined ? undefined : policyIn(stored.data);
}
