import { jcsDigest, limits, type JsonObject, type JsonValue } from '@countersign/contracts';
import { z } from 'zod';

/** A JSON Schema document, for tools without zod (such as those of an MCP server). */
export type JsonSchema = JsonObject;

/** The input of a tool's `execute`: the output of the zod schema, or the arguments themselves. */
export type InputOf<S> = S extends z.ZodType ? z.output<S> : JsonObject;

/** One problem of arguments. */
export interface InputIssue {
  /** JSON pointer of the place; empty for the arguments as a whole. */
  readonly path: string;
  readonly message: string;
}

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
  /** The schema can return another type than it takes, such as with `transform`. Then it may refuse its own output. */
  readonly isTransforming: boolean;
  readonly parse: (args: JsonValue) => Promise<ParsedInput<I>>;
}

/**
 * Prepares a schema. Throws for a JSON Schema that zod cannot enforce whole: half a check would look like a check.
 */
export function inputSchemaOf<S extends z.ZodType | JsonSchema>(schema: S): InputSchema<InputOf<S>> {
  const isZod = schema instanceof z.ZodType;
  if (!isZod && Object.values(schema).some((member) => typeof member === 'function')) {
    // Read as JSON Schema, it has no keyword that means anything, so every value would be valid.
    throw new TypeError('the input schema is neither a schema of zod 4 nor a JSON Schema');
  }
  const validator: z.ZodType = isZod ? schema : z.fromJSONSchema(schema);
  let isTransforming = false;
  const override: ToJsonOptions['override'] = (node) => {
    // Also a codec, `preprocess` and `stringbool`.
    isTransforming ||= node.zodSchema._zod.def.type === 'pipe';
    withoutFlags(node);
  };
  const whole = isZod
    ? asJson(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', override }))
    : asJson(schema);
  if (!isJsonObject(whole)) throw new TypeError('the input schema cannot be written as JSON Schema');
  const json = withoutLookaround(whole);
  return {
    json,
    hash: jcsDigest(json),
    isTransforming,
    parse: async (args) => {
      if (!isJsonObject(args)) return invalid('the arguments must be a JSON object');
      const unrecordable = whyUnrecordable(args);
      if (unrecordable !== undefined) return invalid(unrecordable);
      const asked = copyOf(args);
      if (asked === undefined) return invalid('the arguments hold a value that is no JSON');
      // Attack: a schema or a predicate that changes its value in place must not change what people see or what runs.
      const parsed = await safeParse(validator, copyOf(asked));
      if (!parsed.success) return { valid: false, issues: parsed.issues };
      const settled = await settledForm(validator, parsed.data);
      return {
        valid: true,
        input: parsed.data as InputOf<S>,
        arguments: settled ?? asked,
        isAsAsked: settled !== undefined,
      };
    },
  };
}

/** JSON Schema has no flags: `/^yes$/i` written as `^yes$` would refuse values that the tool accepts. */
function withoutFlags({ zodSchema, jsonSchema }: Parameters<NonNullable<ToJsonOptions['override']>>[0]): void {
  const { def } = zodSchema._zod;
  const defs: readonly object[] = [def, ...(def.checks ?? []).map((check) => check._zod.def)];
  if (!defs.some((one) => 'pattern' in one && one.pattern instanceof RegExp && /[ims]/.test(one.pattern.flags))) return;
  delete jsonSchema.pattern;
  delete jsonSchema.allOf;
}

type ToJsonOptions = NonNullable<Parameters<typeof z.toJSONSchema>[1]>;

const values = new Set(['const', 'default', 'enum', 'examples']);

/**
 * A JSON Schema without the patterns that no linear-time regular expression can express (lookaround, back references),
 * such as those of zod's `email` and `hostname`. The server accepts no others from untrusted agents; here the whole
 * schema is checked, also on edited arguments.
 */
export function withoutLookaround(node: JsonObject): JsonObject {
  const kept = Object.entries(node).filter(([key, value]) => key !== 'pattern' || !needsBacktracking(value));
  return Object.fromEntries(
    kept.map(([key, value]) => [key, values.has(key) ? value : withoutLookaroundWithin(value)]),
  );
}

function withoutLookaroundWithin(node: JsonValue): JsonValue {
  if (Array.isArray(node)) return node.map((child: JsonValue) => withoutLookaroundWithin(child));
  return isJsonObject(node) ? withoutLookaround(node) : node;
}

function needsBacktracking(pattern: JsonValue): boolean {
  return typeof pattern === 'string' && /\(\?<?[=!]|\\[1-9]|\\k</.test(pattern);
}

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
 * The validated form, if it is JSON that the schema maps to itself; without one, people are asked about the arguments as
 * the model wrote them. A default that an approver does not see would be something that runs without having been approved.
 */
async function settledForm(schema: z.ZodType, parsed: unknown): Promise<JsonObject | undefined> {
  const json = asJson(parsed);
  if (!isJsonObject(json) || whyUnrecordable(json) !== undefined) return undefined;
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

/** Why the server would refuse to record a value. Checked here, one call fails alone and not the whole step. */
export function whyUnrecordable(value: JsonValue): string | undefined {
  const problem = problemWithin(value, 1);
  if (problem !== undefined) return problem;
  const bytes = Buffer.byteLength(JSON.stringify(value));
  if (bytes <= limits.argumentsBytesMax) return undefined;
  return `the arguments have ${String(bytes)} bytes, at most ${String(limits.argumentsBytesMax)} are allowed`;
}

/** Why the server would refuse to read a value as a part of a request, at this depth. */
export function problemWithin(value: JsonValue, depth: number): string | undefined {
  if (depth > limits.jsonDepthMax) return `the arguments are nested deeper than ${String(limits.jsonDepthMax)}`;
  if (typeof value !== 'object' || value === null) return problemOfScalar(value);
  for (const [key, child] of Object.entries(value as Readonly<Record<string, JsonValue>>)) {
    const problem = problemOfKey(key, child) ?? problemOfText(key) ?? problemWithin(child, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The server refuses them: copied onto another object they would change its prototype. */
function problemOfKey(key: string, child: JsonValue): string | undefined {
  if (key === '__proto__') return 'the key `__proto__` is forbidden';
  const isPrototype = key === 'constructor' && isJsonObject(child) && Object.hasOwn(child, 'prototype');
  return isPrototype ? 'the key `prototype` in `constructor` is forbidden' : undefined;
}

function problemOfScalar(value: unknown): string | undefined {
  if (typeof value === 'string') return problemOfText(value);
  if (typeof value === 'bigint') return 'a bigint is no JSON: pass it as a string';
  if (typeof value !== 'number') return undefined;
  if (!Number.isFinite(value)) return 'a number is not finite: pass it as a string';
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return undefined;
  return `a whole number is beyond ±${String(Number.MAX_SAFE_INTEGER)}, where digits can be lost: pass it as a string`;
}

function problemOfText(text: string): string | undefined {
  return text.isWellFormed() ? undefined : 'a text holds half of a character (a lone surrogate)';
}

function invalid(message: string): { readonly valid: false; readonly issues: readonly InputIssue[] } {
  return { valid: false, issues: [{ path: '', message }] };
}

function pointerOf(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
