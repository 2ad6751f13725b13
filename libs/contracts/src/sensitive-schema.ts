import type { JsonObject, JsonValue } from './json.js';
import { sensitivePointersIn } from './sensitive.js';
import type { MarkedPlaces } from './sensitive.js';

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
  if (schema === null) return sensitivePointersIn(value);
  const marked: MarkedPlaces<readonly JsonObject[]> = {
    whole: [schema],
    member: (place, key) => place.flatMap((one) => subschemas(one, schema, key)),
    isMarked: (place) => place.some(marksSensitive),
  };
  return sensitivePointersIn(value, marked);
}
