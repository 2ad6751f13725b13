import type { JsonObject, JsonValue, SchemaNote } from '@countersign/contracts';
import { checkValue, hasMark, prepareSchema, withheldSchema } from '@countersign/json-schema';
import { problemOfSchema } from './recordable.js';

/** One problem of arguments. */
export interface InputIssue {
  /** JSON pointer of the place; empty for the arguments as a whole. */
  readonly path: string;
  readonly message: string;
}

/** A JSON Schema as the worker and the server check it. */
export interface SentSchema {
  /** Sent to the server. */
  readonly json: JsonObject;
  /** The parts that neither of them checks. */
  readonly notes: readonly SchemaNote[];
  /** Returns what is wrong with arguments; empty when they fit, or when it takes too much work to say. */
  readonly issuesOf: (args: JsonObject) => readonly InputIssue[];
}

/**
 * A JSON Schema, whole. One that the server cannot read as JSON becomes one of any object, which hides every value if the
 * schema marks any, and which the server names as unchecked. Attack: a schema of others that takes for ever to check is read and checked in counted steps.
 */
export function jsonSchemaOf(written: JsonObject): SentSchema {
  const given = withWholeTexts(written) as JsonObject;
  const problem = problemOfSchema(given);
  const json = problem === undefined ? given : standInFor(given);
  const prepared = prepareSchema(json);
  const notes = problem === undefined ? [] : [{ pointer: '', why: `cannot be sent: ${problem}` }];
  if (prepared.status === 'refused') {
    const { pointer, reason: why } = prepared;
    return { json, notes: [...notes, { pointer, why }], issuesOf: () => [] };
  }
  const { schema } = prepared;
  return {
    json,
    notes: problem === undefined ? schema.notes : notes,
    issuesOf: (args) => {
      const result = checkValue(schema, args);
      if (result.status !== 'invalid') return [];
      return result.errors.map(({ pointer, message }) => ({ path: pointer, message }));
    },
  };
}

function standInFor(schema: JsonObject): JsonObject {
  return { $schema: withheldSchema, type: 'object', ...(hasMark(schema) && { sensitive: true }) };
}

/** The texts of a schema may be cut in the middle of a character. Names are left as they are. */
function withWholeTexts(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(withWholeTexts);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withWholeTexts(member)]));
}
