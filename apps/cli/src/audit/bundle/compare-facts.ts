import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readAnchors } from '@countersign/audit';
import type { Anchor, Entry, Hash } from '@countersign/audit';
import { bundleFiles, checkpointFile, keyChangesFile, monthOf, tilesFile, viewsFile } from '../../bundle/layout.js';
import type { Manifest } from '../../bundle/layout.js';
import type { Damage } from '../log-source.js';
import type { BundleFiles } from './bundle-files.js';
import { isStampFile } from './bundle-stamps.js';
import { whyNotIn } from './read-manifest.js';

/** Compares what a manifest says of the whole bundle with the events and the checkpoints. */
export interface ComparedFacts {
  readonly take: (entry: Entry, isCommitment: boolean) => void;
  /** Whether a bundle may hold this file beside the files made of events. */
  readonly isKnown: (path: string) => boolean;
  readonly end: (files: BundleFiles, root: Hash) => readonly Damage[];
}

/** A checkpoint of a bundle, by the path of its file. */
interface KeptNote {
  readonly path: string;
  readonly note: string;
  readonly anchor: Anchor | undefined;
}

const checkpointForm = /^checkpoints\/([1-9][0-9]{0,14})\.txt$/;
const noteBytesMax = 1024 * 1024;

/** The checkpoints of a bundle, the latest epoch first. */
export function notesIn(folder: string, { files }: Manifest): readonly KeptNote[] {
  return Object.entries(files)
    .flatMap(([path, file]) => {
      const [, epoch] = checkpointForm.exec(path) ?? [];
      const isRead = epoch !== undefined && file.bytes <= noteBytesMax && whyNotIn(folder, path, file) === undefined;
      return isRead ? [{ path, epoch: Number(epoch), note: readFileSync(join(folder, path), 'utf8') }] : [];
    })
    .sort((one, other) => other.epoch - one.epoch)
    .map(({ path, note }) => ({ path, note, anchor: readAnchors(note)?.[0] }));
}

export function compareFacts(folder: string, manifest: Manifest): ComparedFacts {
  const months = new Set<string>();
  let [size, commitments]: [number, number] = [0, 0];
  let [from, to]: [string | null, string | null] = [null, null];
  const unsigned: readonly string[] = [bundleFiles.readme, bundleFiles.columns, bundleFiles.verifier];
  return {
    isKnown: (path) =>
      unsigned.includes(path) ||
      checkpointForm.test(path) ||
      path === tilesFile(keyChangesFile) ||
      isStampFile(path) ||
      [...months].some((month) => viewsFile(month, 'parquet') === path),
    take: ({ recordedAt }, isCommitment) => {
      size += 1;
      commitments += isCommitment ? 1 : 0;
      from ??= recordedAt;
      to = recordedAt;
      months.add(monthOf(recordedAt));
    },
    end: (files, root) => {
      const notes = notesIn(folder, manifest);
      const [newest] = notes;
      // Attack: the checkpoint of one epoch under the name of another.
      const misnamed = notes.filter(({ path, anchor }) => path !== checkpointFile(anchor?.epoch ?? 0));
      const range = { first: 0, size, from, to } as const;
      const isWhole = isSame(manifest, { range, commitments, root: Buffer.from(root).toString('base64') });
      const isAnchored = newest === undefined ? isWithoutNote(manifest) : isOfNote(manifest, newest, files);
      const tables = [...months].map((month) => viewsFile(month, 'parquet'));
      return [
        ...(isWhole && isAnchored ? [] : [about(bundleFiles.manifest)]),
        ...misnamed.map(({ path }) => about(path)),
        ...tables.filter((path) => !Object.hasOwn(manifest.files, path)).map(about),
      ];
    },
  };
}

function isSame(
  manifest: Manifest,
  { range, commitments, root }: Pick<Manifest, 'range' | 'commitments' | 'root'>,
): boolean {
  const { size, from, to } = manifest.range;
  const isRanged = size === range.size && from === range.from && to === range.to;
  // A bundle with values in clear leaves out no content.
  const isCounted = manifest.commitments === commitments && (commitments === 0 || manifest.values === 'stored');
  return isRanged && isCounted && manifest.root === root;
}

function isWithoutNote({ origin, epoch, checkpoint }: Manifest): boolean {
  return origin === null && epoch === null && checkpoint === null;
}

/** Returns whether the manifest and the tiles have the newest checkpoint, and it covers the whole bundle. */
function isOfNote(
  { origin, epoch, range, checkpoint }: Manifest,
  { anchor, note }: KeptNote,
  files: BundleFiles,
): boolean {
  const hasTiles = files.isExactly(tilesFile('checkpoint'), Buffer.from(note));
  const isNamed = checkpoint === note && origin === anchor?.origin && epoch === anchor.epoch;
  return isNamed && hasTiles && anchor.size === range.size;
}

function about(path: string): Damage {
  return {
    check: 'files',
    index: 0,
    detail: `${path} is missing, or does not say what the events and the checkpoint say`,
  };
}
