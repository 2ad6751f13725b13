import type { JsonObject, JsonValue } from '@countersign/contracts';
import type { Evaluated } from './evaluated.js';
import type { Pattern } from './patterns.js';
import type { Run } from './run.js';

/** One assertion of a schema about a value. False: the value does not fit. `seen` records the evaluated parts. */
export type Check<T> = (value: T, run: Run, seen: Evaluated | null) => boolean;

/** A schema or sub-schema, ready to be evaluated. */
export interface SchemaNode {
  readonly id: number;
  /** Its place in the whole schema, as a JSON pointer. */
  readonly pointer: string;
  /** The value of a boolean schema; null for any other. */
  readonly verdict: boolean | null;
  /** A `$ref` leads here: results are kept per value, so that references cannot multiply the work. */
  isShared: boolean;
  isMarked: boolean;
  hasReference: boolean;
  /** A keyword of it is not checked: a value that fits the rest may still be wrong. */
  isDoubtful: boolean;
  /** `nullable` of OpenAPI 3.0: null fits, whatever the other keywords say. */
  readonly isNullable: boolean;
  readonly checks: {
    readonly any: Check<JsonValue>[];
    readonly number: Check<number>[];
    readonly string: Check<string>[];
    readonly array: Check<readonly JsonValue[]>[];
    readonly object: Check<JsonObject>[];
    /** In-place applicators, and after them what depends on all that was seen. */
    readonly inPlace: Check<JsonValue>[];
    readonly last: Check<JsonValue>[];
  };
  /** The sub-schemas by what they speak about. */
  readonly parts: SchemaParts;
}

/** The sub-schemas of a schema. */
export interface SchemaParts {
  readonly properties: Map<string, SchemaNode>;
  /** Null in place of a pattern that cannot be checked: it may match any name. */
  readonly patternProperties: (readonly [Pattern | null, SchemaNode])[];
  readonly prefixItems: SchemaNode[];
  additionalProperties?: SchemaNode;
  unevaluatedProperties?: SchemaNode;
  propertyNames?: SchemaNode;
  items?: SchemaNode;
  contains?: SchemaNode;
  unevaluatedItems?: SchemaNode;
  /** Those about the same value that hold in any case: `$ref`, `allOf`. */
  readonly always: SchemaNode[];
  /** Those about the same value that hold under a condition: `anyOf`, `if`, `dependentSchemas`, … */
  readonly sometimes: SchemaNode[];
}

/** An empty node. */
export function emptyNode(
  given: Pick<SchemaNode, 'id' | 'pointer' | 'verdict' | 'isMarked' | 'isNullable'>,
): SchemaNode {
  return {
    ...given,
    isShared: false,
    hasReference: false,
    isDoubtful: false,
    checks: { any: [], number: [], string: [], array: [], object: [], inPlace: [], last: [] },
    parts: {
      properties: new Map(),
      patternProperties: [],
      prefixItems: [],
      always: [],
      sometimes: [],
    },
  };
}
