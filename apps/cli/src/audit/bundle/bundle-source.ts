import {
  canonicalBody,
  digestOfBody,
  formatEntry,
  formatExported,
  parseStored,
  readExported,
  tenantOf,
} from '@countersign/audit';
import type { Entry, ExportedEvent } from '@countersign/audit';
import { eventSchemas, mayHaveSecrets } from '@countersign/contracts';
import type { StoredEvent } from '@countersign/contracts';
import { readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { eventsFile, eventsPerFile, keyChangesFile, tilesFile } from '../../bundle/layout.js';
import type { Manifest } from '../../bundle/layout.js';
import { currentRules } from '../../bundle/rules.js';
import { createLeafReader } from './bundle-leaves.js';
import { keyChangesBytesMax, tooManyChanges } from '../key-change-lines.js';
import { textLines } from '../tile-reader.js';
import type { Damage, LogSource, SourceEvent } from '../log-source.js';
import { openBundleFiles } from './bundle-files.js';
import type { BundleFiles, BundleLines } from './bundle-files.js';
import { compareCopies } from './compare-copies.js';
import { compareFacts, notesIn } from './compare-facts.js';
import { compareViews } from './compare-views.js';
import type { UnprovenViews } from './compare-views.js';
import { stampsIn } from './bundle-stamps.js';
import { readManifest, whyNotIn } from './read-manifest.js';

/** A bundle as a log. What its manifest says is compared with the files, and is trusted in nothing. */
export function openBundle(named: string): LogSource {
  const folder = realpathSync(named);
  const manifest = readManifest(folder);
  const state: ReadState = {};
  return {
    tenant: () => Promise.resolve(manifest.tenant),
    isOfOneTenant: true,
    events: () => eventsOf(folder, manifest, state),
    total: manifest.range.size,
    checks: ['body', 'files'],
    keptNotes: () => notesIn(folder, manifest).map(({ note }) => note),
    keyChanges: () => keyChangesIn(folder, manifest),
    timestamps: () => stampsIn(manifest, (path) => readIn(folder, manifest, path)),
    leaves: () => createLeafReader((path) => readIn(folder, manifest, path)),
    unproven: () => unprovenOf(manifest, state.unproven),
    close: () => undefined,
  };
}

function keyChangesIn(folder: string, manifest: Manifest): readonly string[] {
  const path = tilesFile(keyChangesFile);
  if ((manifest.files[path]?.bytes ?? 0) > keyChangesBytesMax) throw tooManyChanges(`${join(folder, path)} has`);
  return textLines(readIn(folder, manifest, path) ?? new Uint8Array(0));
}

interface ReadState {
  /** Absent until all is read. */
  unproven?: UnprovenViews;
}

/** The bytes of a file that the manifest names; undefined: it must not be read. */
function readIn(folder: string, { files }: Manifest, path: string): Buffer | undefined {
  const file = Object.hasOwn(files, path) ? files[path] : undefined;
  if (file === undefined || whyNotIn(folder, path, file) !== undefined) return undefined;
  return readFileSync(join(folder, path));
}

function unprovenOf({ rules }: Manifest, views: UnprovenViews | undefined): readonly string[] {
  const { hidden = 0, unreadable = 0, masks = 0, shows = 0 } = views ?? {};
  const left = rules === undefined ? [] : currentRules().columns.filter((name) => !rules.columns.includes(name));
  const about = (count: number, text: string): readonly string[] => (count === 0 ? [] : [text]);
  return [
    ...about(hidden, `the views of ${String(hidden)} events whose content was not shown`),
    ...about(
      unreadable,
      `the views of ${String(unreadable)} events that the version that made the bundle could not read`,
    ),
    ...about(masks + shows, otherMasks(rules, masks + shows, shows)),
    ...about(left.length, `the tables lack columns of this version: ${left.join(', ')}`),
    'that the Parquet files say what the events say: they were compared with the manifest alone',
    'README.md, columns.csv and verify.mjs of the bundle: nothing signs them',
  ];
}

function otherMasks(rules: Manifest['rules'], views: number, shows: number): string {
  const made = `the masks in ${String(views)} views: the bundle was made with other rules (${rules?.masks ?? ''})`;
  const shown = `and ${String(shows)} of them show values that this version masks`;
  return `${made}, ${shown}; nothing else in them differs from the events`;
}

function* eventsOf(folder: string, manifest: Manifest, state: ReadState): Iterable<SourceEvent> {
  const files = openBundleFiles(folder, manifest, firstIndexOf);
  const [copies, views] = [compareCopies(files, manifest), compareViews(files, manifest.rules)];
  const facts = compareFacts(folder, manifest);
  let index = 0;
  for (const read of linesOf(files, manifest)) {
    if (read.line === undefined) {
      yield { stored: undefined, damage: read.damage, done: index };
      continue;
    }
    const { line } = read;
    const found = eventIn(line, index);
    if (found === undefined) {
      yield {
        stored: undefined,
        damage: [...read.damage, { check: 'read', detail: 'the line is no event' }],
        done: index,
      };
      continue;
    }
    const { entry, entryText, stored } = found;
    const damage = [
      ...read.damage,
      ...found.damage,
      ...(stored === undefined ? hiddenDamage(entry) : tenantDamage(stored, manifest)),
      ...copies.take({ index, entry, entryText, stored, line }),
      ...views.take(index, entry, stored),
    ];
    facts.take(entry, stored === undefined);
    index += 1;
    yield { stored, entry, entryText, damage, done: index };
  }
  state.unproven = views.unproven();
  const rest = [...copies.end(), ...views.end(), ...facts.end(files, copies.root()), ...files.rest(facts.isKnown)];
  if (rest.length > 0) yield { stored: undefined, damage: rest, done: index };
}

/** The first event in a file of events; 0 for any other file. */
function firstIndexOf(path: string): number {
  const [, digits] = /^events\/(\d{12})\.ndjson$/.exec(path) ?? [];
  return digits === undefined ? 0 : Number(digits);
}

interface ReadLine {
  readonly line: string | undefined;
  readonly damage: readonly Damage[];
}

/** The lines of all files with events, in their order. */
function* linesOf(files: BundleFiles, { range: { size } }: Manifest): Iterable<ReadLine> {
  for (let first = 0; first < size; first += eventsPerFile) {
    const lines = files.open(eventsFile(first));
    if (lines === undefined) {
      yield { line: undefined, damage: [{ check: 'read', detail: `${eventsFile(first)} is missing` }] };
      return;
    }
    yield* linesIn(lines);
    const damage = lines.end();
    if (damage.length > 0) yield { line: undefined, damage };
  }
}

function* linesIn(lines: BundleLines): Iterable<ReadLine> {
  for (let line = lines.next(); line !== undefined; line = lines.next()) {
    if (line.text === undefined) yield { line: undefined, damage: [{ check: 'read', detail: 'the line is no text' }] };
    else yield { line: line.text, damage: line.isWhole ? [] : [{ check: 'read', detail: 'the line is cut off' }] };
  }
}

interface FoundEvent {
  readonly entry: Entry;
  readonly entryText: string;
  readonly stored: StoredEvent | undefined;
  readonly damage: readonly Damage[];
}

function eventIn(line: string, index: number): FoundEvent | undefined {
  const read = readExported(parseStored(line));
  if (read === undefined) return undefined;
  const { entry, body } = read;
  const entryText = formatEntry(entry);
  const content = body === null ? null : canonicalBody({ data: body.data, metadata: body.metadata });
  const isOfEntry = content === null || digestOfBody(content) === entry.body;
  const isPlain = line === formatExported(read.index, entryText, content);
  const damage: readonly Damage[] = [
    ...(read.index === index ? [] : [order(read.index, index)]),
    ...(isOfEntry ? [] : [{ check: 'body' as const, detail: 'its content is not the one of its entry' }]),
    ...(isPlain ? [] : [{ check: 'files' as const, detail: 'its line is not in the form that is exported' }]),
  ];
  return { entry, entryText, stored: storedOf(read, index), damage };
}

function order(found: number, index: number): Damage {
  return { check: 'order', detail: `its index is ${String(found)} where ${String(index)} comes next` };
}

function storedOf({ entry, body }: ExportedEvent, index: number): StoredEvent | undefined {
  if (body === null) return undefined;
  const { eventId, stream, revision, type, recordedAt } = entry;
  const place = { position: index, eventId, stream, revision, type, recordedAt };
  return { ...place, metadata: body.metadata, data: body.data };
}

function tenantDamage(stored: StoredEvent, { tenant }: Manifest): readonly Damage[] {
  return tenantOf(stored) === tenant ? [] : [{ check: 'read', detail: `it is of another tenant than "${tenant}"` }];
}

/** Attack: the owner leaves out the content of an event, for example of a denial. Only an event with hidden values may lack its content. */
function hiddenDamage({ type }: Entry): readonly Damage[] {
  const isUnknown = !Object.hasOwn(eventSchemas, type);
  return isUnknown || mayHaveSecrets(type)
    ? []
    : [{ check: 'body', detail: 'its content is missing without a reason' }];
}
