import type { JsonObject } from '@countersign/contracts';
import { checkValue, createWork, prepareSchema, schemaLimits, stepsMax } from '@countersign/json-schema';
import type { PreparedSchema } from '@countersign/json-schema';
import { whyUnrecordable, withoutLookaround, type InputIssue } from '@countersign/worker-sdk';

/** The schema of a tool as the gate and the ledger use it. */
export interface ToolSchema {
  /** The schema for the ledger. */
  readonly json: JsonObject;
  /** Returns the problems of arguments, none when they fit. */
  readonly problemsOf: (args: JsonObject) => readonly InputIssue[];
}

/** The ledger has `stepsMax` for reading the schema and checking the arguments. */
const steps = stepsMax / 2;

/**
 * The attack: a schema of the MCP server that takes for ever to check. It is read and checked in counted steps, as the
 * ledger does it. A schema that the ledger would refuse becomes one of any object: the server checks its arguments itself.
 */
export function toolSchemaOf(given: JsonObject): ToolSchema {
  const json = withoutLookaround(given);
  const prepared = preparedOf(json);
  if (prepared === undefined) return { json: { type: 'object' }, problemsOf: () => [] };
  return { json, problemsOf: (args) => problemsOf(prepared, args) };
}

function preparedOf(json: JsonObject): PreparedSchema | undefined {
  if (whyUnrecordable(json) !== undefined) return undefined;
  if (Buffer.byteLength(JSON.stringify(json)) > schemaLimits.bytesMax) return undefined;
  const preparation = prepareSchema(json, { work: createWork(steps) });
  return preparation.status === 'prepared' ? preparation.schema : undefined;
}

function problemsOf(schema: PreparedSchema, args: JsonObject): readonly InputIssue[] {
  const result = checkValue(schema, args, createWork(steps));
  if (result.status === 'valid') return [];
  if (result.status === 'over-budget') {
    return [{ path: '', message: 'checking them against the schema of the tool takes too much work' }];
  }
  // A dotted path is no JSON pointer, so it is a part of the text.
  return result.errors.map(({ path, message }) => ({
    path: '',
    message: path === '' ? message : `${path}: ${message}`,
  }));
}
