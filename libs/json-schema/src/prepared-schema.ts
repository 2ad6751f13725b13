import type { SchemaNode } from './schema-node.js';

/** A compiled schema: its references are resolved and its patterns compiled. */
export interface PreparedSchema {
  readonly root: SchemaNode;
  readonly nodes: readonly SchemaNode[];
  /** True if evaluated parts must be recorded. */
  readonly tracks: boolean;
  /** An estimate of its size in bytes. */
  readonly weight: number;
}

/** A schema, or why it is refused and where. */
export type Preparation =
  | { readonly status: 'prepared'; readonly schema: PreparedSchema }
  | { readonly status: 'refused'; readonly pointer: string; readonly reason: string };

/** The place and the reason of a refusal. */
export interface SchemaRefusal {
  readonly pointer: string;
  readonly reason: string;
}
