import type { JsonObject, JsonValue } from './json.js';
import { isMask, maskOf } from './sensitive-mask.js';
import { looksSecret } from './sensitive-names.js';
import { maskText, mayBeJsonText, unmaskText } from './sensitive-text.js';

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function marksSensitive(schema: JsonObject): boolean {
  return schema['sensitive'] === true || schema['x-sensitive'] === true || schema['format'] === 'password';
}

/** The sub-schemas that speak about one member; `$ref` within the same document is followed once. */
function subschemas(schema: JsonObject, root: JsonObject, key: string | number): JsonObject[] {
  const all = variants(schema, root);
  const found: JsonObject[] = [];
  for (const one of all) {
    const properties = one['properties'];
    const items = one['items'];
    const additional = one['additionalProperties'];
    const child = typeof key === 'string' && isObject(properties) ? properties[key] : items;
    if (isObject(child)) found.push(...variants(child, root));
    else if (typeof key === 'string' && isObject(additional)) found.push(...variants(additional, root));
  }
  return found;
}

function variants(schema: JsonObject, root: JsonObject, depth = 0): JsonObject[] {
  if (depth > 8) return [];
  const reference = schema['$ref'];
  const target = typeof reference === 'string' ? resolveReference(reference, root) : undefined;
  const parts = ['allOf', 'anyOf', 'oneOf'].flatMap((word) => {
    const list = schema[word];
    return Array.isArray(list) ? (list as JsonValue[]).filter(isObject) : [];
  });
  const nested = target === undefined ? parts : [...parts, target];
  return [schema, ...nested.flatMap((part) => variants(part, root, depth + 1))];
}

function resolveReference(reference: string, root: JsonObject): JsonObject | undefined {
  if (!reference.startsWith('#/')) return undefined;
  let node: JsonValue | undefined = root;
  for (const part of reference.slice(2).split('/')) {
    node = isObject(node) && Object.hasOwn(node, part) ? node[part] : undefined;
  }
  return isObject(node) ? node : undefined;
}

/**
 * The JSON pointers (RFC 6901) of the values that only the requesting agent, the claim and auditors may see: those
 * that the tool's schema marks (`sensitive: true`, `x-sensitive: true`, `format: password`) and those whose names look
 * like secrets.
 */
export function sensitivePointers(value: JsonValue, schema: JsonObject | null = null): string[] {
  const pointers: string[] = [];
  const visit = (node: JsonValue, schemas: readonly JsonObject[], pointer: string): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const [key, child] of entriesOf(node)) {
      const here = `${pointer}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
      const inner = schema === null ? [] : schemas.flatMap((one) => subschemas(one, schema, key));
      const secretName = typeof key === 'string' && looksSecret(key);
      if (child !== null && (secretName || inner.some(marksSensitive))) pointers.push(here);
      else visit(child, inner, here);
    }
  };
  visit(value, schema === null ? [] : [schema], '');
  return pointers;
}

function entriesOf(node: JsonObject | readonly JsonValue[]): [string | number, JsonValue][] {
  return Array.isArray(node) ? (node as JsonValue[]).map((child, index) => [index, child]) : Object.entries(node);
}

/**
 * A copy of a JSON value with the values at `pointers` masked, and with what looks secret in strings that are JSON texts
 * themselves; the value itself when there is nothing of either.
 */
export function maskAt<T extends JsonValue>(value: T, pointers: readonly string[], salt: string | null): T {
  if (pointers.length === 0 && !hasJsonText(value)) return value;
  const wanted = new Set(pointers);
  return rewrite(value, '', (node, pointer) => {
    if (wanted.has(pointer)) return maskOf(node, salt);
    return typeof node === 'string' ? maskText(node, salt) : undefined;
  }) as T;
}

function hasJsonText(value: JsonValue): boolean {
  if (typeof value === 'string') return mayBeJsonText(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasJsonText);
}

/** A copy of a JSON value with every value under a secret-looking name masked, without a hash. */
export function maskByName<T extends JsonValue>(value: T): T {
  return maskAt(value, sensitivePointers(value), null);
}

/**
 * The edited arguments with each mask that was sent back replaced by the original value it stands for, also inside a
 * string that is a JSON text.
 * A mask that stands for nothing at its place is left and named in `foreign`, to be refused.
 */
export function unmask(
  edited: JsonObject,
  original: JsonObject,
  salt: string,
): { readonly arguments: JsonObject; readonly foreign: readonly string[] } {
  const foreign: string[] = [];
  const restored = rewrite(edited, '', (node, pointer) => {
    if (typeof node !== 'string') return undefined;
    const before = valueAt(original, pointer);
    const value = isMask(node) ? unmaskValue(node, before, salt) : unmaskText(node, before, salt);
    if (value === undefined) foreign.push(pointer);
    return value;
  });
  return { arguments: restored as JsonObject, foreign };
}

function unmaskValue(mask: string, before: JsonValue | undefined, salt: string): JsonValue | undefined {
  return before !== undefined && maskOf(before, salt) === mask ? before : undefined;
}

function valueAt(value: JsonValue, pointer: string): JsonValue | undefined {
  let node: JsonValue | undefined = value;
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return undefined;
    node = (node as Readonly<Record<string, JsonValue>>)[key];
  }
  return node;
}

function rewrite(
  node: JsonValue,
  pointer: string,
  replace: (node: JsonValue, pointer: string) => JsonValue | undefined,
): JsonValue {
  const replaced = replace(node, pointer);
  if (replaced !== undefined) return replaced;
  if (typeof node !== 'object' || node === null) return node;
  if (Array.isArray(node)) {
    return (node as JsonValue[]).map((child, index) => rewrite(child, `${pointer}/${String(index)}`, replace));
  }
  return Object.fromEntries(
    Object.entries(node).map(([key, child]) => [
      key,
      rewrite(child, `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`, replace),
    ]),
  );
}
