import { hash } from 'node:crypto';
import { hiddenValues, limits, sensitivePointers } from '@countersign/contracts';
import type { FieldError, JsonObject, MarkedPlaces, SchemaNote } from '@countersign/contracts';
import { checkValue, createWork, markedPlaces, prepareSchema, schemaLimits, stepsMax } from '@countersign/json-schema';
import type { Preparation, PreparedSchema, Work } from '@countersign/json-schema';

/** A tool's schema as a check of arguments. */
export type SchemaCheck =
  | ValidArguments
  | { readonly status: 'invalid'; readonly errors: readonly FieldError[] }
  /** The schema cannot be used, or it cannot be used for these arguments. */
  | { readonly status: 'refused'; readonly about: 'toolSchema' | 'arguments'; readonly message: string };

/** Arguments that fit a schema, as far as it can be checked. */
export interface ValidArguments {
  readonly status: 'valid';
  /** The JSON pointers of the values to hide, by the schema's marks and by their names. */
  readonly sensitive: readonly string[];
  /** The parts of the schema that are not checked. */
  readonly notes: readonly SchemaNote[];
  /** The check took more work than it may: nothing is known about the arguments. */
  readonly isOverBudget: boolean;
  /** The schema to record in place of one that is too large; null: the schema itself. */
  readonly standIn: JsonObject | null;
}

/** Validates arguments against JSON Schemas that agents send, and finds the values that are to be hidden. */
export interface ArgumentSchemas {
  /**
   * Without a schema every object is valid.
   * @throws SchemaEngineError when the check itself fails: then the validity is unknown.
   */
  readonly check: (schema: JsonObject | null, args: JsonObject) => SchemaCheck;
  /**
   * The same, with one step budget for all checks of a request.
   * @param count how many checks there will be. Each of them has a share that the others cannot use up. Default: no shares.
   */
  readonly forOneRequest: (count?: number) => ArgumentSchemas;
  /** Returns whether the latest check of this request took so many steps that others should have their turn. */
  readonly wasLaborious: () => boolean;
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

/** Between two checks others are answered. */
const requestStepsMax = 2 * stepsMax;

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
    const key = hash('sha256', JSON.stringify(schema));
    const known = cache.get(key);
    if (known !== undefined) return known;
    const result = engine.prepareSchema(schema, { work });
    if (work.left >= 0) cache.set(key, result);
    return result;
  };
  const checkWithin = (schema: JsonObject | null, args: JsonObject, work: Work): SchemaCheck => {
    if (schema === null) return withSensitive(args, null);
    const preparation = prepare(schema, work);
    if (preparation.status === 'refused') {
      const { pointer, reason } = preparation;
      return { status: 'refused', about: 'toolSchema', message: `${pointer} ${reason}` };
    }
    const { schema: prepared } = preparation;
    const verdict = engine.checkValue(prepared, args, work);
    if (verdict.status === 'invalid') {
      return { status: 'invalid', errors: verdict.errors.map(({ path, message }) => ({ path, message })) };
    }
    return withSensitive(args, prepared, verdict.status === 'over-budget');
  };
  const within = (workOf: () => Work): ArgumentSchemas => {
    let steps = 0;
    return {
      check: (schema, args) => {
        const work = workOf();
        const { left } = work;
        const checked = guarded(() => checkWithin(schema, args, work));
        // Also the names of the arguments are searched for what looks secret.
        steps = left - work.left + (JSON.stringify(args).length >> 4);
        return checked;
      },
      forOneRequest: (count) => within(count === undefined ? oneFor(createWork()) : sharedBy(count)),
      wasLaborious: () => steps > laboriousSteps,
    };
  };
  return within(() => createWork());
}

const oneFor = (work: Work) => () => work;

const laboriousSteps = 10_000;

/** The steps of all checks of one request. Each has at least half of an equal share, and what the others have left. */
function sharedBy(count: number): () => Work {
  const kept = requestStepsMax / 2 / count;
  let left = requestStepsMax;
  let checks = count;
  let given = 0;
  let latest = createWork(0);
  return () => {
    left -= given - Math.max(0, latest.left);
    checks -= 1;
    given = Math.min(stepsMax, Math.max(kept, left - kept * checks));
    latest = createWork(given);
    return latest;
  };
}

const overBudget: SchemaNote = {
  pointer: '',
  why: 'takes more work to check with these arguments than one request may cost',
};

function guarded(check: () => SchemaCheck): SchemaCheck {
  try {
    return check();
  } catch (error) {
    throw new SchemaEngineError('the check of a schema failed', { cause: error });
  }
}

/** The search for marks has steps of its own: they hold also where the check took all of its steps. */
const markStepsMax = 100_000;

function withSensitive(args: JsonObject, schema: PreparedSchema | null, isOverBudget = false): SchemaCheck {
  const sensitive = schema === null ? sensitivePointers(args) : markedIn(args, schema);
  const isTooLarge = isTooLong(sensitive) || isTooLong(hiddenValues(args, sensitive).map(({ pointer }) => pointer));
  if (isTooLarge) {
    return { status: 'refused', about: 'arguments', message: 'have too many values to hide, under too long names' };
  }
  if (schema === null) return { ...{ status: 'valid', sensitive, isOverBudget }, notes: [], standIn: null };
  const standIn = standInFor(schema, args);
  const more = [...(isOverBudget ? [overBudget] : []), ...(standIn === null ? [] : [notRecorded])];
  return { ...{ status: 'valid', sensitive, isOverBudget, standIn }, notes: withNotes(schema, more) };
}

function withNotes({ notes }: PreparedSchema, more: readonly SchemaNote[]): readonly SchemaNote[] {
  return notes.some(({ pointer }) => pointer === '') ? notes : [...notes, ...more];
}

const notRecorded: SchemaNote = {
  pointer: '',
  why: 'is too large to be recorded with these arguments: edits are not checked',
};

/** The most bytes of a schema and arguments in one event, which has to fit into EventStoreDB's limit with all the rest. */
const recordedBytesMax = 384 * 1024;

/** The schema to record in place of one that is too large. It hides everything if the schema hides anything. */
function standInFor({ bytes, nodes }: PreparedSchema, args: JsonObject): JsonObject | null {
  if (bytes <= recordedBytesMax - limits.argumentsBytesMax) return null;
  const together = bytes + Buffer.byteLength(JSON.stringify(args));
  if (bytes <= schemaLimits.bytesMax && together <= recordedBytesMax) return null;
  return nodes.some(({ isMarked }) => isMarked) ? { sensitive: true } : {};
}

/** Where the search itself takes too much work, all values are hidden. */
function markedIn(args: JsonObject, schema: PreparedSchema): string[] {
  const search = createWork(markStepsMax);
  const marked = markedPlaces(schema, search);
  const found = sensitivePointers(args, marked);
  return search.left >= 0 ? found : sensitivePointers(args, everywhere);
}

const everywhere: MarkedPlaces<true> = { whole: true, member: () => true, isMarked: () => true };

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
