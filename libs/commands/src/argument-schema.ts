import { jcsDigest } from '@countersign/contracts';
import type { JsonObject } from '@countersign/contracts';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ErrorObject, ValidateFunction } from 'ajv';
import formats from 'ajv-formats';
import { RE2 } from 're2-wasm';
import type { FieldError } from './outcome.js';

/** What a tool's schema says about arguments. */
export type SchemaCheck =
  | { readonly status: 'valid' }
  | { readonly status: 'invalid'; readonly errors: readonly FieldError[] }
  /** The schema itself is no JSON Schema (draft 2020-12) that can be compiled. */
  | { readonly status: 'bad-schema'; readonly message: string };

/** Validates arguments against JSON Schemas that agents send. */
export interface ArgumentSchemas {
  readonly check: (schema: JsonObject, args: JsonObject) => SchemaCheck;
}

const compiledMax = 500;

/** Patterns of a stranger's schema run in RE2, which cannot backtrack for ever. */
const regExp = Object.assign((pattern: string): RE2 => new RE2(pattern, 'u'), { code: 'new RE2' });

/** A validator with a bounded cache of compiled schemas, by content hash. */
export function createArgumentSchemas(): ArgumentSchemas {
  const compiled = new Map<string, ValidateFunction | string>();
  const compile = (schema: JsonObject): ValidateFunction | string => {
    const key = jcsDigest(schema);
    const known = compiled.get(key);
    if (known !== undefined) return known;
    if (compiled.size >= compiledMax) compiled.delete(compiled.keys().next().value ?? '');
    const result = tryCompile(schema);
    compiled.set(key, result);
    return result;
  };
  const check = (schema: JsonObject, args: JsonObject): SchemaCheck => {
    const validate = compile(schema);
    if (typeof validate === 'string') return { status: 'bad-schema', message: validate };
    if (validate(args)) return { status: 'valid' };
    return { status: 'invalid', errors: (validate.errors ?? []).map(toFieldError) };
  };
  return { check };
}

function tryCompile(schema: JsonObject): ValidateFunction | string {
  // An instance of its own for each schema: two strangers' schemas may carry the same `$id`.
  const ajv = new Ajv2020({
    allErrors: true,
    strict: false,
    // What it would print about a stranger's schema belongs in no log; what matters is in the answer.
    logger: false,
    validateFormats: true,
    addUsedSchema: false,
    code: { regExp },
    unicodeRegExp: true,
  });
  (formats as unknown as (ajv: Ajv2020, options: { mode: 'fast' }) => void)(ajv, { mode: 'fast' });
  try {
    const { $schema: _, ...rest } = schema;
    return ajv.compile(rest);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function toFieldError(error: ErrorObject): FieldError {
  const path = error.instancePath.split('/').slice(1).join('.');
  const property: unknown = (error.params as Record<string, unknown>)['additionalProperty'];
  const named = typeof property === 'string' ? ` (${property})` : '';
  return { path, message: `${error.message ?? 'is not valid'}${named}` };
}
