import type { SchemaNode } from './schema-node.js';

/** A schema that was read: its parts are known, its references lead somewhere, its patterns are compiled. */
export interface PreparedSchema {
  readonly root: SchemaNode;
  readonly nodes: readonly SchemaNode[];
  /** Whether what was evaluated must be noted. */
  readonly tracks: boolean;
  /** An estimate of the bytes that it takes. */
  readonly weight: number;
}

/** A schema, or why it is refused and where. */
export type Preparation =
  | { readonly status: 'prepared'; readonly schema: PreparedSchema }
  | { readonly status: 'refused'; readonly pointer: string; readonly reason: string };

/** Where a schema is refused, and why. */
export interface SchemaRefusal {
  readonly pointer: string;
  readonly reason: string;
}
