import { jcsDigest, type JsonObject, type JsonValue, type SchemaNote } from '@countersign/contracts';
import { z } from 'zod';
import { jsonSchemaOf, type InputIssue } from './json-schema.js';
import { whyUnrecordable } from './recordable.js';
import { isWholeInJson } from './whole-json.js';

/** A JSON Schema document, for tools without zod (such as those of an MCP server). */
export type JsonSchema = JsonObject;

/** The input of a tool's `execute`: the output of the zod schema, or the arguments themselves. */
export type InputOf<S> = S extends z.ZodType ? z.output<S> : JsonObject;

/** Validated arguments, or what is wrong with them. */
export type ParsedInput<I> =
  | {
      readonly valid: true;
      readonly input: I;
      /**
       * The arguments to approve, in JSON: with defaults filled in and unknown members removed, so that people see what
       * will run.
       */
      readonly arguments: JsonObject;
      /** The input, as JSON, is `arguments`. Otherwise the schema transforms, and the tool gets another value than people see. */
      readonly isAsAsked: boolean;
    }
  | { readonly valid: false; readonly issues: readonly InputIssue[] };

/** The problems of arguments as one text. */
export function issuesText(issues: readonly InputIssue[]): string {
  return issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
}

/** A tool's input schema in both of its uses. */
export interface InputSchema<I> {
  /** Sent to the server, which validates edited arguments with it. */
  readonly json: JsonObject;
  /** Part of the action digest. */
  readonly hash: string;
  /** The parts of `json` that the server does not check, and those that it cannot have. */
  readonly notes: readonly SchemaNote[];
  /** The schema can return another type than it takes, such as with `transform`. Then it may refuse its own output. */
  readonly isTransforming: boolean;
  /** @param isRecorded the arguments come from the server. Default: false. */
  readonly parse: (args: JsonValue, isRecorded?: boolean) => Promise<ParsedInput<I>>;
}

/** Prepares a schema. Throws a TypeError for what is neither a schema of zod 4 nor a JSON Schema. */
export function inputSchemaOf<S extends z.ZodType | JsonSchema>(schema: S): InputSchema<InputOf<S>> {
  if (schema instanceof z.ZodType) return ofZod(schema);
  if (Object.values(schema).some((member) => typeof member === 'function')) {
    // Read as JSON Schema, it has no keyword that means anything, so every value would be valid.
    throw new TypeError('the input schema is neither a schema of zod 4 nor a JSON Schema');
  }
  const whole = asJson(schema);
  if (!isJsonObject(whole)) throw new TypeError('the input schema cannot be written as JSON Schema');
  const prepared = jsonSchemaOf(whole);
  return {
    ...{ json: prepared.json, hash: jcsDigest(prepared.json), notes: prepared.notes, isTransforming: false },
    parse: async (args, isRecorded) => {
      const asked = recordableCopy(args, isRecorded);
      if ('problem' in asked) return invalid(asked.problem);
      const issues = prepared.issuesOf(asked.copy);
      if (issues.length > 0) return { valid: false, issues };
      const input = withDefaults(whole, asked.copy);
      const settled = prepared.issuesOf(input).length === 0 ? input : asked.copy;
      return { valid: true, input: structuredClone(settled) as InputOf<S>, arguments: settled, isAsAsked: true };
    },
  };
}

function ofZod<S extends z.ZodType>(schema: S): InputSchema<InputOf<S>> {
  let isTransforming = false;
  const flagged = new Map<string, SchemaNote>();
  const override: ToJsonOptions['override'] = (node) => {
    // Also a codec, `preprocess` and `stringbool`.
    isTransforming ||= node.zodSchema._zod.def.type === 'pipe';
    if (!withoutFlags(node)) return;
    const why = 'has flags, which JSON Schema has no words for: only the worker checks it';
    // Asked about some schemas twice.
    const pointer = pointerOf([...node.path, 'pattern']);
    flagged.set(pointer, { pointer, why });
  };
  const whole = asJson(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', override }));
  if (!isJsonObject(whole)) throw new TypeError('the input schema cannot be written as JSON Schema');
  const { json, notes } = jsonSchemaOf(whole);
  return {
    ...{ json, hash: jcsDigest(json), notes: [...flagged.values(), ...notes], isTransforming },
    parse: async (args, isRecorded) => {
      const asked = recordableCopy(args, isRecorded);
      if ('problem' in asked) return invalid(asked.problem);
      // Attack: a schema or a predicate that changes its value in place must not change what people see or what runs.
      const parsed = await safeParse(schema, structuredClone(asked.copy));
      if (!parsed.success) return { valid: false, issues: parsed.issues };
      const settled = await settledForm(schema, parsed.data, isRecorded);
      return {
        valid: true,
        input: parsed.data as InputOf<S>,
        arguments: settled ?? asked.copy,
        isAsAsked: settled !== undefined,
      };
    },
  };
}

function recordableCopy(
  args: JsonValue,
  isRecorded?: boolean,
): { readonly copy: JsonObject } | { readonly problem: string } {
  if (!isJsonObject(args)) return { problem: 'the arguments must be a JSON object' };
  const problem = whyUnrecordable(args, isRecorded);
  if (problem !== undefined) return { problem };
  const copy = copyOf(args);
  return copy === undefined ? { problem: 'the arguments hold a value that is no JSON' } : { copy };
}

/** Fills in what a JSON Schema names as `default`, so that people see what will run. */
function withDefaults(schema: JsonValue, args: JsonObject): JsonObject {
  const properties = isJsonObject(schema) ? schema['properties'] : undefined;
  if (!isJsonObject(properties)) return args;
  const filled = Object.entries(properties).flatMap(([name, part]): [string, JsonValue][] => {
    const given = Object.hasOwn(args, name) ? args[name] : undefined;
    if (given === undefined)
      return isJsonObject(part) && Object.hasOwn(part, 'default') ? [[name, part['default'] ?? null]] : [];
    return isJsonObject(given) ? [[name, withDefaults(part, given)]] : [];
  });
  return { ...args, ...Object.fromEntries(filled) };
}

/** JSON Schema has no flags: `/^yes$/i` written as `^yes$` would refuse values that the tool accepts. */
function withoutFlags({ zodSchema, jsonSchema }: Parameters<NonNullable<ToJsonOptions['override']>>[0]): boolean {
  const { def } = zodSchema._zod;
  const defs: readonly object[] = [def, ...(def.checks ?? []).map((check) => check._zod.def)];
  if (!defs.some((one) => 'pattern' in one && one.pattern instanceof RegExp && /[ims]/.test(one.pattern.flags)))
    return false;
  delete jsonSchema.pattern;
  delete jsonSchema.allOf;
  return true;
}

type ToJsonOptions = NonNullable<Parameters<typeof z.toJSONSchema>[1]>;

type SafeParsed =
  | { readonly success: true; readonly data: unknown }
  | { readonly success: false; readonly issues: readonly InputIssue[] };

async function safeParse(schema: z.ZodType, value: unknown): Promise<SafeParsed> {
  try {
    const result = await schema.safeParseAsync(value);
    if (result.success) return result;
    const issues = result.error.issues.map(({ path, message }) => ({ path: pointerOf(path), message }));
    return { success: false, issues };
  } catch {
    // A refinement or transformation of the tool that throws counts as invalid.
    return { success: false, issues: [{ path: '', message: 'the validation failed to run' }] };
  }
}

/**
 * The validated form, if JSON says all of it and the schema maps that to itself; without one, people are asked about the arguments as
 * the model wrote them. A default that an approver does not see would be something that runs without having been approved.
 */
async function settledForm(schema: z.ZodType, parsed: unknown, isRecorded?: boolean): Promise<JsonObject | undefined> {
  const json = asJson(parsed);
  if (!isJsonObject(json) || !isWholeInJson(parsed) || whyUnrecordable(json, isRecorded) !== undefined)
    return undefined;
  const again = await safeParse(schema, copyOf(json));
  if (!again.success) return undefined;
  const jsonAgain = asJson(again.data);
  return jsonAgain !== undefined && jcsDigest(jsonAgain) === jcsDigest(json) ? json : undefined;
}

function copyOf<T>(value: T): T | undefined {
  try {
    return structuredClone(value);
  } catch {
    // A function, for example.
    return undefined;
  }
}

/** A value as JSON would carry it; undefined when it cannot. */
export function asJson(value: unknown): JsonValue | undefined {
  // JSON would write these as an empty object.
  if (value instanceof Error || value instanceof Map || value instanceof Set) return undefined;
  try {
    const text = JSON.stringify(value) as string | undefined;
    return text === undefined ? undefined : (JSON.parse(text) as JsonValue);
  } catch {
    return undefined;
  }
}

/** Returns whether two values are the same JSON, in any order of members. */
export function isSameJson(one: unknown, other: unknown): boolean {
  const [first, second] = [asJson(one), asJson(other)];
  return first !== undefined && second !== undefined && jcsDigest(first) === jcsDigest(second);
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(message: string): { readonly valid: false; readonly issues: readonly InputIssue[] } {
  return { valid: false, issues: [{ path: '', message }] };
}

function pointerOf(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
