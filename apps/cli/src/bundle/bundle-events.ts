import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { canonicalContent, digestOfBody, firstRecordedAt, formatEntry, formatExported } from '@countersign/audit';
import type { Entry } from '@countersign/audit';
import { isReadable, systemStreamPrefix } from '@countersign/contracts';
import type { LogEventView, StoredEvent } from '@countersign/contracts';
import type { AppendFiles } from './append-files.js';
import { bundleFiles, eventsFile, monthOf, viewsFile } from './layout.js';
import type { TileFiles } from './tile-files.js';
import { builtInPolicyData, policyIn } from './policies.js';
import { isShown, viewLineOf } from './views.js';

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
  const index = target.tiles.size();
  const recordedAt = firstRecordedAt(stored);
  const content = canonicalContent(stored);
  const { body } = content;
  const { event, line } = viewLineOf(stored, content, { index, recordedAt });
  const isCommitment = target.values === 'stored' && !isShown(event);
  const entry = { ...stored, recordedAt, body: digestOfBody(body) };
  writeLine(target, entry, isCommitment ? null : body);
  writeView(target, recordedAt, line);
  if (isReadable(event)) writePolicy(target.folder, event.data);
}

/** Writes the tenant's next event of which the source has the entry and the masked view alone. */
export function writeCommitment(target: BundleTarget, entry: Entry, view: LogEventView): void {
  const placed = { ...view, position: target.tiles.size(), recordedAt: entry.recordedAt };
  writeLine(target, entry, null);
  writeView(target, entry.recordedAt, JSON.stringify(placed));
}

function writeLine({ files, tiles, counts }: BundleTarget, entry: Entry, body: string | null): void {
  const index = tiles.size();
  const text = formatEntry(entry);
  const line = `${formatExported(index, text, body)}\n`;
  files.append(eventsFile(index), line);
  if (entry.stream.startsWith(systemStreamPrefix)) files.append(bundleFiles.system, line);
  tiles.append(text);
  counts.commitments += body === null ? 1 : 0;
  counts.from ??= entry.recordedAt;
  counts.to = entry.recordedAt;
}

function writeView({ files, counts }: BundleTarget, recordedAt: string, line: string): void {
  const month = monthOf(recordedAt);
  if (!counts.months.includes(month)) counts.months.push(month);
  files.append(viewsFile(month, 'ndjson'), `${line}\n`);
}

function writePolicy(folder: string, data: object): void {
  const policy = policyIn(data);
  if (policy === undefined) return;
  const file = join(folder, policy.path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, policy.text);
}

/** Writes the built-in policy of the tenant, which most logs have no event about. */
export function writeBuiltInPolicy(folder: string, tenant: string): void {
  writePolicy(folder, builtInPolicyData(tenant));
}
