import type { SchemaNode } from './schema-node.js';

/** A part of a schema that is not checked. Everything else in the schema holds. */
export interface SchemaNote {
  /** Its place in the schema, as a JSON pointer; empty for the schema as a whole. */
  readonly pointer: string;
  readonly why: string;
}

/** A compiled schema: its references are resolved and its patterns compiled. */
export interface PreparedSchema {
  readonly root: SchemaNode;
  readonly nodes: readonly SchemaNode[];
  /** True if evaluated parts must be recorded. */
  readonly tracks: boolean;
  /** An estimate of its size in bytes. */
  readonly weight: number;
  /** The parts that are not checked. Empty: the schema is checked whole. */
  readonly notes: readonly SchemaNote[];
  /** Its bytes as JSON. */
  readonly bytes: number;
}

/** A schema, or why it is refused and where: it marks names of arguments as sensitive, which cannot be hidden. */
export type Preparation =
  | { readonly status: 'prepared'; readonly schema: PreparedSchema }
  | { readonly status: 'refused'; readonly pointer: string; readonly reason: string };
