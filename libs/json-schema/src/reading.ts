import type { JsonObject, JsonValue } from '@countersign/contracts';
import { dialects } from './dialects.js';
import type { Dialect } from './keyword.js';
import { schemaLimits } from './limits.js';
import type { SchemaNote } from './prepared-schema.js';
import { memberAt } from './references.js';
import { shortened } from './run.js';
import type { SchemaNode } from './schema-node.js';
import { createWork } from './work.js';
import type { Work } from './work.js';

/** The options of compiling a schema. */
export interface PrepareOptions {
  /** True if `format` is asserted. Default: true. */
  readonly assertsFormats?: boolean;
  readonly work?: Work;
}

/** The state of compiling a schema. */
export interface Reading {
  readonly dialect: Dialect;
  readonly assertsFormats: boolean;
  readonly work: Work;
  readonly root: JsonValue;
  readonly nodes: SchemaNode[];
  readonly byObject: Map<JsonObject, SchemaNode>;
  readonly bases: Map<SchemaNode, string>;
  /** Schemas by `$id`, and by `$id#anchor`. */
  readonly byUri: Map<string, { readonly schema: JsonValue; readonly node: SchemaNode }>;
  /** Schemas by their `$dynamicAnchor`; those with `$recursiveAnchor` under the empty name. */
  readonly dynamic: Map<string, SchemaNode[]>;
  /** The keys of `byUri` that several schemas have. */
  readonly ambiguous: Set<string>;
  /** The schemas with a reference that leads to no schema, or to one of several. */
  readonly lostReferences: SchemaNode[];
  readonly unread: Unread[];
  readonly references: Reference[];
  /** Objects whose members are schemas: names in them are no keywords. */
  readonly maps: Set<JsonObject>;
  readonly notes: SchemaNote[];
  /** Also those that are too many to keep. */
  noteCount: number;
  programs: number;
  patterns: number;
  tracks: boolean;
}

/** A schema whose keywords are still to be read. */
export interface Unread {
  readonly node: SchemaNode;
  readonly schema: JsonObject;
  readonly level: number;
}

/** A reference, to be resolved when all ids are known. */
export interface Reference {
  readonly from: SchemaNode;
  readonly keyword: string;
  readonly uri: string;
  readonly use: (target: SchemaNode) => void;
  readonly mayBe: (targets: readonly SchemaNode[]) => void;
}

// 64 levels of ordinary names fit.
const pointerCharsMax = 1000;

/** Nothing is compiled yet. A schema of an unknown dialect is read like one that names none. */
export function startReading(root: JsonValue, { assertsFormats = true, work = createWork() }: PrepareOptions): Reading {
  const named = memberAt(root, '$schema');
  const dialect = (named === undefined ? undefined : dialects.get(named)) ?? 'unnamed';
  return {
    ...{ dialect, assertsFormats, work, root },
    ...{ nodes: [], byObject: new Map(), bases: new Map(), byUri: new Map(), dynamic: new Map() },
    ...{
      ambiguous: new Set(),
      lostReferences: [],
      unread: [],
      references: [],
      maps: new Set(),
      notes: [],
      noteCount: 0,
      programs: 0,
      patterns: 0,
      tracks: false,
    },
  };
}

/** Notes a part of a schema that is not checked. */
export function note(reading: Reading, node: SchemaNode, pointer: string, why: string): void {
  node.isDoubtful = true;
  addNote(reading, pointer, why);
}

/** The same, for a part without which the checks of the schema are whole. */
export function addNote(reading: Reading, pointer: string, why: string): void {
  reading.noteCount += 1;
  if (reading.notes.length < schemaLimits.notesMax)
    reading.notes.push({ pointer: shortened(pointer, pointerCharsMax), why });
}

/** The notes, of which the last counts those that are not listed. */
export function notesOf({ notes, noteCount }: Reading): readonly SchemaNote[] {
  const others = noteCount - notes.length;
  const last = notes.at(-1);
  if (others === 0 || last === undefined) return notes;
  return [...notes.slice(0, -1), { ...last, why: `${last.why} (${String(others)} more parts are not checked)` }];
}
