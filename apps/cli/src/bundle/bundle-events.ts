import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  canonicalBody,
  canonicalForm,
  digestOfBody,
  firstRecordedAt,
  formatEntry,
  formatExported,
} from '@countersign/audit';
import { isReadable, systemStreamPrefix, toLogEvent } from '@countersign/contracts';
import type { LogEvent, StoredEvent } from '@countersign/contracts';
import { csvHeader } from '@countersign/exports';
import type { AppendFiles } from './append-files.js';
import { bundleFiles, eventsFile, monthOf, policyFile, viewsFile } from './layout.js';
import type { TileFiles } from './tile-files.js';
import { csvOfView, isShown, viewOf } from './views.js';

/** The counts of the events that were written. */
export interface BundleCounts {
  commitments: number;
  from: string | null;
  to: string | null;
  /** The months that have views. */
  readonly months: string[];
}

/** The files that take the events. */
export interface BundleTarget {
  readonly folder: string;
  readonly files: AppendFiles;
  readonly tiles: TileFiles;
  readonly counts: BundleCounts;
  readonly values: 'stored' | 'clear';
}

/** Writes the tenant's next event into every file that has it. */
export function writeEvent(target: BundleTarget, stored: StoredEvent): void {
  const { files, tiles, counts, values } = target;
  const index = tiles.size();
  const recordedAt = firstRecordedAt(stored);
  const body = canonicalBody(stored);
  // With its members in the order of the bundle, so that a reader of the bundle makes the same views.
  const event = toLogEvent({ ...stored, data: undefined, ...(JSON.parse(body) as Pick<StoredEvent, 'metadata'>) });
  const entry = formatEntry({ ...stored, recordedAt, body: digestOfBody(body) });
  const isCommitment = values === 'stored' && !isShown(event);
  const line = `${formatExported(index, entry, isCommitment ? null : body)}\n`;
  files.append(eventsFile(index), line);
  if (stored.stream.startsWith(systemStreamPrefix)) files.append(bundleFiles.system, line);
  tiles.append(entry);
  writeViews(target, { index, recordedAt, event });
  if (isReadable(event)) writePolicy(target.folder, event.data);
  counts.commitments += isCommitment ? 1 : 0;
  counts.from ??= recordedAt;
  counts.to = recordedAt;
}

interface Placed {
  readonly index: number;
  readonly recordedAt: string;
  readonly event: LogEvent;
}

function writeViews({ files, counts }: BundleTarget, { index, recordedAt, event }: Placed): void {
  const month = monthOf(recordedAt);
  if (!counts.months.includes(month)) {
    counts.months.push(month);
    files.append(viewsFile(month, 'csv'), csvHeader);
  }
  const view = viewOf(event, index, recordedAt);
  files.append(viewsFile(month, 'ndjson'), `${JSON.stringify(view)}\n`);
  files.append(viewsFile(month, 'csv'), csvOfView(view));
}

function writePolicy(folder: string, data: object): void {
  const { policyVersion, content } = data as { readonly policyVersion?: unknown; readonly content?: unknown };
  const path = content === undefined || typeof policyVersion !== 'string' ? undefined : policyFile(policyVersion);
  if (path === undefined) return;
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, canonicalForm(content));
}
