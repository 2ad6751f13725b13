import { hash } from 'node:crypto';
import { hiddenValues, sensitivePointers } from '@countersign/contracts';
import type { JsonObject } from '@countersign/contracts';
import { checkValue, createWork, markedPlaces, prepareSchema, schemaLimits } from '@countersign/json-schema';
import type { Preparation, PreparedSchema, Work } from '@countersign/json-schema';
import type { FieldError } from '@countersign/contracts';

/** A tool's schema as a check of arguments. */
export type SchemaCheck =
  /** `sensitive`: the JSON pointers of the values to hide, by the schema's marks and by their names. */
  | { readonly status: 'valid'; readonly sensitive: readonly string[] }
  | { readonly status: 'invalid'; readonly errors: readonly FieldError[] }
  /** The schema cannot be used, or it cannot be used for these arguments. */
  | { readonly status: 'refused'; readonly about: 'toolSchema' | 'arguments'; readonly message: string };

/** Validates arguments against JSON Schemas that agents send, and finds the values that are to be hidden. */
export interface ArgumentSchemas {
  /**
   * Without a schema every object is valid.
   * @throws SchemaEngineError when the check itself fails: then the validity is unknown.
   */
  readonly check: (schema: JsonObject | null, args: JsonObject) => SchemaCheck;
  /** The same, with one step budget for all checks of a request. */
  readonly forOneRequest: () => ArgumentSchemas;
}

/** The check of a schema failed for a reason outside the schema. */
export class SchemaEngineError extends Error {
  override readonly name = 'SchemaEngineError';
}

/** The engine that runs the checks. */
export interface SchemaEngine {
  readonly prepareSchema: typeof prepareSchema;
  readonly checkValue: typeof checkValue;
}

const cacheWeightMax = 32 * 1024 * 1024;

/**
 * Attack: a long name above many hidden values. The event and the card name each of them by its whole path, and become
 * many times as large as the arguments.
 */
const pointerBytesMax = 128 * 1024;

/** A validator with a bounded cache of prepared schemas, by content. */
export function createArgumentSchemas(engine: SchemaEngine = { prepareSchema, checkValue }): ArgumentSchemas {
  const cache = createSchemaCache();
  const prepare = (schema: JsonObject, work: Work): Preparation => {
    const text = JSON.stringify(schema);
    if (Buffer.byteLength(text) > schemaLimits.bytesMax) {
      return { status: 'refused', pointer: '', reason: `has more than ${String(schemaLimits.bytesMax / 1024)} KiB` };
    }
    const key = hash('sha256', text);
    const known = cache.get(key);
    if (known !== undefined) return known;
    const result = engine.prepareSchema(schema, { work });
    if (work.left >= 0) cache.set(key, result);
    return result;
  };
  const checkWithin = (schema: JsonObject | null, args: JsonObject, work: Work): SchemaCheck => {
    if (schema === null) return withSensitive(args, null, work);
    const preparation = prepare(schema, work);
    if (preparation.status === 'refused') {
      const { pointer, reason } = preparation;
      return {
        status: 'refused',
        about: 'toolSchema',
        message: `${pointer === '' ? 'the schema' : pointer} ${reason}`,
      };
    }
    const verdict = engine.checkValue(preparation.schema, args, work);
    if (verdict.status === 'over-budget') return overBudget;
    return verdict.status === 'invalid' ? verdict : withSensitive(args, preparation.schema, work);
  };
  const within = (workOf: () => Work): ArgumentSchemas => ({
    check: (schema, args) => guarded(() => checkWithin(schema, args, workOf())),
    forOneRequest: () => {
      const work = createWork();
      return within(() => work);
    },
  });
  return within(() => createWork());
}

const overBudget: SchemaCheck = {
  status: 'refused',
  about: 'arguments',
  message: 'checking them against the schema takes more work than one request may cost',
};

function guarded(check: () => SchemaCheck): SchemaCheck {
  try {
    return check();
  } catch (error) {
    throw new SchemaEngineError('the check of a schema failed', { cause: error });
  }
}

function withSensitive(args: JsonObject, schema: PreparedSchema | null, work: Work): SchemaCheck {
  const sensitive = sensitivePointers(args, schema === null ? null : markedPlaces(schema, work));
  if (work.left < 0) return overBudget;
  const isTooLarge = isTooLong(sensitive) || isTooLong(hiddenValues(args, sensitive).map(({ pointer }) => pointer));
  if (!isTooLarge) return { status: 'valid', sensitive };
  return { status: 'refused', about: 'arguments', message: 'have too many values to hide, under too long names' };
}

/** The characters first: together the pointers may be too long even to be written. */
function isTooLong(pointers: readonly string[]): boolean {
  if (pointers.reduce((sum, pointer) => sum + pointer.length, 0) > pointerBytesMax) return true;
  return pointers.length > 0 && Buffer.byteLength(JSON.stringify(pointers)) > pointerBytesMax;
}

/** Limited by the memory of the schemas, so that a few large ones do not use more than many small ones. */
function createSchemaCache() {
  const entries = new Map<string, Preparation>();
  let weight = 0;
  const weightOf = (entry: Preparation): number => (entry.status === 'prepared' ? entry.schema.weight : 1000);
  const remove = (key: string, entry: Preparation): void => {
    entries.delete(key);
    weight -= weightOf(entry);
  };
  return {
    /** The entry, which is the newest from now on. */
    get: (key: string): Preparation | undefined => {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry;
    },
    set: (key: string, entry: Preparation): void => {
      entries.set(key, entry);
      weight += weightOf(entry);
      for (const [oldest, old] of entries) {
        if (weight <= cacheWeightMax) return;
        remove(oldest, old);
      }
    },
  };
}
