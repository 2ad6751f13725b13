import { statSync } from 'node:fs';
import { parseShown, tenantOf } from '@countersign/audit';
import type { StoredEvent } from '@countersign/contracts';
import { usageError } from '../cli-error.js';
import { openLines } from './file-lines.js';
import type { LogSource, SourceEvent } from './log-source.js';

/** An export: events in their stored form, one JSON document a line. @throws CliError when its first line is none. */
export function openExportFile(file: string): LogSource {
  const first = firstLineOf(file);
  if (first !== undefined && eventOf(first) === undefined) {
    const detail = `${file} is no export of events in their stored form: its first line is no such event.`;
    throw usageError(detail, 'Each line needs eventId, stream, revision, type, recordedAt, metadata and data.');
  }
  return {
    tenant: () => Promise.resolve(first === undefined ? undefined : tenantIn(first)),
    events: () => eventsOf(file),
    total: statSync(file).size,
    checks: [],
    keptNotes: () => [],
    leaves: () => undefined,
    close: () => undefined,
  };
}

function tenantIn(line: string): string | undefined {
  const stored = eventOf(line);
  return stored === undefined ? undefined : tenantOf(stored);
}

function firstLineOf(file: string): string | undefined {
  const lines = openLines(file);
  try {
    return lines.next()?.text;
  } finally {
    lines.close();
  }
}

function* eventsOf(file: string): Iterable<SourceEvent> {
  const lines = openLines(file);
  let [done, last] = [0, -1];
  try {
    for (let line = lines.next(); line !== undefined; line = lines.next()) {
      done += line.bytes;
      const stored = line.text === undefined ? undefined : eventOf(line.text);
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
  } finally {
    lines.close();
  }
}

/** The members of an event in its stored form. Attack: another one, which a person reads. */
const members = ['position', 'eventId', 'stream', 'revision', 'type', 'recordedAt', 'metadata', 'data'];

/** The event of a line in its stored form; undefined for a line that has none. */
function eventOf(line: string): StoredEvent | undefined {
  const value = parseShown(line);
  if (typeof value !== 'object' || value === null || !('metadata' in value) || !('data' in value)) return undefined;
  const event = { position: 0, ...value } as StoredEvent;
  const texts = [event.eventId, event.stream, event.type, event.recordedAt];
  const numbers = [event.revision, event.position];
  return texts.every((text) => typeof text === 'string') && numbers.every(Number.isSafeInteger) ? event : undefined;
}
