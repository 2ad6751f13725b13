import { statSync } from 'node:fs';
import { isProofEvent, parseShown, readEntry, tenantOf } from '@countersign/audit';
import type { Entry } from '@countersign/audit';
import type { StoredEvent } from '@countersign/contracts';
import { usageError } from '../cli-error.js';
import { openLines } from './file-lines.js';
import type { FileLines } from './file-lines.js';
import { keyChangesMax, tooManyChanges } from './key-change-lines.js';
import type { LogSource, SourceEvent } from './log-source.js';

/**
 * An export: events in their stored form, one JSON document a line, and before them the changes of the log key, where there were any.
 * An event with sensitive values that are stored in clear is there as its entry: a commitment.
 * @throws CliError when its first other line is no event, or too many changes are before it.
 */
export function openExportFile(file: string): LogSource {
  const { changes, first } = beginOf(file);
  if (first !== undefined && eventOf(first) === undefined && entryIn(first) === undefined) {
    const detail = `${file} is no export of events in their stored form: its first line is no such event.`;
    throw usageError(detail, 'Each line needs eventId, stream, revision, type, recordedAt, metadata and data.');
  }
  return {
    tenant: () => Promise.resolve(tenantIn(file, changes.length)),
    events: () => eventsOf(file, changes.length),
    total: statSync(file).size,
    checks: [],
    keptNotes: () => [],
    keyChanges: () => changes,
    leaves: () => undefined,
    close: () => undefined,
  };
}

/** The tenant of the first event that is no commitment. */
function tenantIn(file: string, changes: number): string | undefined {
  for (const { stored } of eventsOf(file, changes)) if (stored !== undefined) return tenantOf(stored);
  return undefined;
}

/** The changes of the log key at the begin of a file, and its first other line. */
function beginOf(file: string): { readonly changes: readonly string[]; readonly first: string | undefined } {
  const lines = openLines(file);
  const changes: string[] = [];
  try {
    for (;;) {
      const first = lines.next()?.text;
      if (first === undefined || !isProofEvent(parseShown(first))) return { changes, first };
      if (changes.length === keyChangesMax) throw tooManyChanges(`${file} begins with`);
      changes.push(first);
    }
  } finally {
    lines.close();
  }
}

/** @param changes how many lines before the first event are changes of the log key. */
function* eventsOf(file: string, changes: number): Iterable<SourceEvent> {
  const lines = openLines(file);
  try {
    const begin = skipChanges(lines, changes);
    yield* eventsIn(lines, begin);
  } finally {
    lines.close();
  }
}

/** Reads over the changes of the log key, and returns their bytes. */
function skipChanges(lines: FileLines, changes: number): number {
  let done = 0;
  for (let count = 0; count < changes; count += 1) done += lines.next()?.bytes ?? 0;
  return done;
}

function* eventsIn(lines: FileLines, begin: number): Iterable<SourceEvent> {
  let [done, last] = [begin, -1];
  for (let line = lines.next(); line !== undefined; line = lines.next()) {
    done += line.bytes;
    const stored = line.text === undefined ? undefined : eventOf(line.text);
    const entry = stored === undefined && line.text !== undefined ? entryIn(line.text) : undefined;
    if (entry !== undefined) {
      yield { stored, entry, damage: [], done };
      continue;
    }
    if (stored === undefined) {
      yield { stored, damage: [{ check: 'read', detail: 'the line is no event' }], done };
      continue;
    }
    const { position } = stored;
    const isBack = position !== 0 && position <= last;
    const detail = `position ${String(position)} follows position ${String(last)}`;
    const other = Object.keys(stored).find((name) => !members.includes(name));
    const damage = [
      ...(isBack ? [{ check: 'order' as const, detail }] : []),
      ...(other === undefined ? [] : [{ check: 'read' as const, detail: `no hash covers its member "${other}"` }]),
    ];
    last = Math.max(last, position);
    yield { stored, damage, done };
  }
}

/** The members of an event in its stored form. Attack: another one, which a person reads. */
const members = ['position', 'eventId', 'stream', 'revision', 'type', 'recordedAt', 'metadata', 'data'];

/** The entry of an event whose content is not shown. */
function entryIn(line: string): Entry | undefined {
  return readEntry(parseShown(line));
}

/** The event of a line in its stored form; undefined for a line that has none. */
function eventOf(line: string): StoredEvent | undefined {
  const value = parseShown(line);
  if (typeof value !== 'object' || value === null || !('metadata' in value) || !('data' in value)) return undefined;
  const event = { position: 0, ...value } as StoredEvent;
  const texts = [event.eventId, event.stream, event.type, event.recordedAt];
  const numbers = [event.revision, event.position];
  return texts.every((text) => typeof text === 'string') && numbers.every(Number.isSafeInteger) ? event : undefined;
}
