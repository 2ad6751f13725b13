import type { JsonObject, JsonValue } from '@countersign/contracts';
import { dialects } from './dialects.js';
import type { Dialect } from './keyword.js';
import type { SchemaRefusal } from './prepared-schema.js';
import { memberAt } from './references.js';
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
  readonly unread: Unread[];
  readonly references: Reference[];
  /** Objects whose members are schemas: names in them are no keywords. */
  readonly maps: Set<JsonObject>;
  programs: number;
  patterns: number;
  tracks: boolean;
  refusal: SchemaRefusal | null;
}

/** A schema whose keywords are still to be read. */
export interface Unread {
  readonly node: SchemaNode;
  readonly schema: JsonObject;
  readonly level: number;
}

/** A `$ref`, to be resolved when all ids are known. */
export interface Reference {
  readonly from: SchemaNode;
  readonly uri: string;
  readonly use: (target: SchemaNode) => void;
}

/** Nothing is compiled yet; an unknown `$schema` is refused. */
export function startReading(root: JsonValue, { assertsFormats = true, work = createWork() }: PrepareOptions): Reading {
  const named = memberAt(root, '$schema');
  const dialect = named === undefined ? 'unnamed' : dialects.get(named);
  const refusal: SchemaRefusal | null =
    dialect === undefined ? { pointer: '/$schema', reason: 'must be that of draft 2020-12 or draft-07' } : null;
  return {
    ...{ dialect: dialect ?? 'unnamed', assertsFormats, work, root, refusal },
    ...{ nodes: [], byObject: new Map(), bases: new Map(), byUri: new Map(), unread: [], references: [] },
    ...{ maps: new Set(), programs: 0, patterns: 0, tracks: false },
  };
}

/** The first reason to refuse the schema counts. */
export function refuse(reading: Reading, pointer: string, reason: string): void {
  reading.refusal ??= { pointer, reason };
}
