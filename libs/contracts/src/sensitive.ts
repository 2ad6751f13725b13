import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { JsonObject, JsonValue } from './json.js';

const secretWord = /^(password|passwd|passphrase|pwd|secret|token|authorization|credential|credentials|cookie)$/;
const secretPair = /^(api|private|access|signing|encryption|secret|auth)_?(key|token)s?$/;

const seenNames = new Map<string, boolean>();
const seenNamesMax = 4096;

/** Whether a member's name looks like that of a secret: its last word (`dbPassword`), or two (`x-api-key`). */
export function looksSecret(name: string): boolean {
  const seen = seenNames.get(name);
  if (seen !== undefined) return seen;
  const secret = judgeName(name);
  // The same few names come again and again; a flood of new ones must not fill the memory.
  if (seenNames.size >= seenNamesMax) seenNames.clear();
  seenNames.set(name, secret);
  return secret;
}

function judgeName(name: string): boolean {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
  const last = words.at(-1) ?? '';
  return secretWord.test(last) || secretPair.test(last) || secretPair.test(words.slice(-2).join('_'));
}

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

const maskPattern = /^\[masked(?: sha256:[0-9a-f]{16})?\]$/;

/** Whether a value is a mask that a reader got in place of a sensitive value. */
export function isMask(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && maskPattern.test(value);
}

/**
 * What a reader sees in place of a sensitive value: `[masked sha256:…]`, 64 bits of a salted SHA-256, equal for equal
 * values of one call and useless for guessing. Without a salt the mask carries no hash.
 */
export function maskOf(value: JsonValue, salt: string | null): string {
  if (salt === null) return '[masked]';
  return `[masked sha256:${hash('sha256', `${salt}${canonicalize(value) ?? ''}`, 'hex').slice(0, 16)}]`;
}

/** A copy of a JSON value with the values at `pointers` masked; the value itself when there are none. */
export function maskAt<T extends JsonValue>(value: T, pointers: readonly string[], salt: string | null): T {
  if (pointers.length === 0) return value;
  const wanted = new Set(pointers);
  return rewrite(value, '', (node, pointer) => (wanted.has(pointer) ? maskOf(node, salt) : undefined)) as T;
}

/** A copy of a JSON value with every value under a secret-looking name masked, without a hash. */
export function maskByName<T extends JsonValue>(value: T): T {
  return maskAt(value, sensitivePointers(value), null);
}

/**
 * The edited arguments with each mask that was sent back replaced by the original value it stands for.
 * A mask that stands for nothing at its place is left and named in `foreign`, to be refused.
 */
export function unmask(
  edited: JsonObject,
  original: JsonObject,
  salt: string,
): { readonly arguments: JsonObject; readonly foreign: readonly string[] } {
  const foreign: string[] = [];
  const restored = rewrite(edited, '', (node, pointer) => {
    if (!isMask(node)) return undefined;
    const before = valueAt(original, pointer);
    if (before !== undefined && maskOf(before, salt) === node) return before;
    foreign.push(pointer);
    return undefined;
  });
  return { arguments: restored as JsonObject, foreign };
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
