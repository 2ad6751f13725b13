import type { JsonObject, JsonValue } from '@countersign/contracts';
import { dialects, keywordsOf } from './dialects.js';
import { isObject } from './keyword.js';
import type { KeywordPlace } from './keyword.js';
import { schemaLimits } from './limits.js';
import { findEndlessReference } from './endless-reference.js';
import { findLostMark, isMarked } from './marks.js';
import { addMemberChecks } from './members.js';
import { compilePattern } from './patterns.js';
import type { Pattern } from './patterns.js';
import type { Preparation } from './prepared-schema.js';
import { refuse, startReading } from './reading.js';
import type { PrepareOptions, Reading, Reference, Unread } from './reading.js';
import { memberAt, pointerTo, resolveUri, stepsOf, unnamedBase } from './references.js';
import { emptyNode } from './schema-node.js';
import type { SchemaNode } from './schema-node.js';
import { spend } from './work.js';

/** Steps that reading costs: a node some microseconds, a pattern some hundred. */
const stepsPerNode = 20;
const stepsPerPattern = 1000;
const stepsPerUnicodeClass = 2000;

/** Reads a schema once, so that values can be checked against it. It is refused when a part of it cannot be honoured. */
export function prepareSchema(root: JsonValue, options: PrepareOptions = {}): Preparation {
  const reading = startReading(root, options);
  const node = nodeOf(reading, root, '', unnamedBase, 1);
  readAll(reading);
  for (const check of [findEndlessReference, findLostMark]) {
    if (reading.refusal === null) reading.refusal = check({ ...reading, rootNode: node });
  }
  if (reading.work.left < 0) refuse(reading, '', 'takes more work than one request may cost');
  if (reading.refusal !== null) return { status: 'refused', ...reading.refusal };
  const { nodes, tracks, patterns } = reading;
  const weight = 1000 + nodes.length * 2000 + patterns * 25_000;
  return { status: 'prepared', schema: { root: node, nodes, tracks, weight } };
}

/** Sub-schemas are read from a list, not by recursion: a long chain of references must not fill the stack. */
function readAll(reading: Reading): void {
  while (reading.refusal === null) {
    const next = reading.unread.pop();
    if (next !== undefined) readNode(reading, next);
    else {
      const reference = reading.references.pop();
      if (reference === undefined) return;
      follow(reading, reference);
    }
  }
}

function nodeOf(reading: Reading, schema: JsonValue, pointer: string, base: string, level: number): SchemaNode {
  const known = isObject(schema) ? reading.byObject.get(schema) : undefined;
  if (known !== undefined) return known;
  const verdict = typeof schema === 'boolean' ? schema : null;
  const given = { id: reading.nodes.length, pointer, verdict, isMarked: isObject(schema) && isMarked(schema) };
  const node = emptyNode(given);
  reading.nodes.push(node);
  spend(reading.work, stepsPerNode);
  if (reading.nodes.length > schemaLimits.nodesMax)
    refuse(reading, '', `has more than ${schemaLimits.nodesMax} schemas in it`);
  if (level > schemaLimits.levelsMax) refuse(reading, pointer, `is more than ${schemaLimits.levelsMax} levels deep`);
  if (isObject(schema)) {
    reading.byObject.set(schema, node);
    reading.bases.set(node, base);
    reading.unread.push({ node, schema, level });
    nameNode(reading, node, schema, base);
  } else if (verdict === null) refuse(reading, pointer, 'must be a schema: an object, true or false');
  return node;
}

/** Notes the `$id` and the anchors of a schema. */
function nameNode(reading: Reading, node: SchemaNode, schema: JsonObject, base: string): void {
  const named = schema['$schema'];
  if (node.pointer !== '' && named !== undefined && dialects.get(named) !== reading.dialect) {
    refuse(reading, pointerTo(node.pointer, '$schema'), 'must be that of the whole schema');
  }
  const own = identify(reading, node, schema, base);
  reading.bases.set(node, own);
  if (own !== base || node.pointer === '') putUri(reading, own, schema, node);
  if (reading.dialect === 'draft-07') return;
  for (const anchor of new Set([schema['$anchor'], schema['$dynamicAnchor']])) {
    if (typeof anchor === 'string') putUri(reading, `${own}#${anchor}`, schema, node);
  }
}

/** The base URI of a schema's references: that of its `$id`, if it has one. */
function identify(reading: Reading, node: SchemaNode, schema: JsonObject, base: string): string {
  const id = schema['$id'];
  // In draft-07 a schema with a reference is nothing but the reference.
  const isReference = reading.dialect === 'draft-07' && Object.hasOwn(schema, '$ref');
  if (typeof id !== 'string' || isReference) return base;
  const uri = resolveUri(id, base);
  if (uri === undefined) refuse(reading, pointerTo(node.pointer, '$id'), 'must be a URI');
  else if (uri.fragment === '') return uri.resource;
  // The anchors of draft-07.
  else putUri(reading, `${uri.resource}#${uri.fragment}`, schema, node);
  return base;
}

function putUri(reading: Reading, uri: string, schema: JsonValue, node: SchemaNode): void {
  if (reading.byUri.has(uri)) refuse(reading, node.pointer, 'has an id or anchor that another schema has too');
  reading.byUri.set(uri, { schema, node });
}

function readNode(reading: Reading, { node, schema, level }: Unread): void {
  const known = keywordsOf(reading.dialect);
  const isReferenceOnly = reading.dialect === 'draft-07' && Object.hasOwn(schema, '$ref');
  const place = placeOf(reading, node, schema, level);
  for (const [name, value] of Object.entries(schema)) {
    if (isReferenceOnly && name !== '$ref') continue;
    known.get(name)?.(value, place, name);
  }
  addMemberChecks(node);
}

function placeOf(reading: Reading, node: SchemaNode, schema: JsonObject, level: number): KeywordPlace {
  const base = baseOf(reading, node);
  const at = (path: readonly (string | number)[]): string => pointerTo(node.pointer, ...path);
  const subschema: KeywordPlace['subschema'] = (value, ...path) => nodeOf(reading, value, at(path), base, level + 1);
  const refuseAt: KeywordPlace['refuse'] = (reason, ...path) => {
    refuse(reading, at(path), reason);
  };
  return {
    node,
    schema,
    dialect: reading.dialect,
    assertsFormats: reading.assertsFormats,
    subschema,
    subschemas: (value, keyword) => {
      if (!isObject(value)) {
        refuseAt('must be an object of schemas', keyword);
        return [];
      }
      reading.maps.add(value);
      return Object.entries(value).map(([name, one]) => [name, subschema(one, keyword, name)] as const);
    },
    refuse: refuseAt,
    pattern: (text, ...path) => readPattern(reading, text, at(path)),
    reference: (uri, use) => {
      if (typeof uri === 'string') reading.references.push({ from: node, uri, use });
      else refuseAt('must be a URI reference', '$ref');
    },
    track: () => {
      reading.tracks = true;
    },
  };
}

function readPattern(reading: Reading, text: JsonValue, pointer: string): Pattern | undefined {
  if (typeof text !== 'string') {
    refuse(reading, pointer, 'must be a pattern');
    return undefined;
  }
  const classes = text.match(/\\[pP]|\(\?[a-z]*i/g)?.length ?? 0;
  if (!spend(reading.work, stepsPerPattern + classes * stepsPerUnicodeClass)) return undefined;
  const result = compilePattern(text);
  if (!('pattern' in result)) {
    refuse(reading, pointer, result.reason);
    return undefined;
  }
  reading.patterns += 1;
  reading.programs += result.pattern.program;
  if (reading.programs > schemaLimits.programsMax)
    refuse(reading, pointer, 'is one pattern too many: together they are too large');
  return result.pattern;
}

function follow(reading: Reading, { from, uri, use }: Reference): void {
  const target = targetOf(reading, from, uri);
  if (target === undefined) refuse(reading, pointerTo(from.pointer, '$ref'), 'leads to no schema of this document');
  else use(target);
}

function targetOf(reading: Reading, from: SchemaNode, uri: string): SchemaNode | undefined {
  const found = resolveUri(uri, baseOf(reading, from));
  if (found === undefined) return undefined;
  const { resource, fragment } = found;
  const start = reading.byUri.get(resource);
  if (fragment === '') return start?.node;
  if (!fragment.startsWith('/')) return reading.byUri.get(`${resource}#${fragment}`)?.node;
  return start === undefined ? undefined : walkTo(reading, start.node, start.schema, stepsOf(fragment));
}

function baseOf(reading: Reading, node: SchemaNode | undefined, otherwise = unnamedBase): string {
  return (node && reading.bases.get(node)) ?? otherwise;
}

/** The schema at a pointer below another one, possibly at a place without a keyword. */
function walkTo(
  reading: Reading,
  start: SchemaNode,
  schema: JsonValue,
  steps: readonly string[],
): SchemaNode | undefined {
  let value: JsonValue | undefined = schema;
  let { pointer } = start;
  let base = baseOf(reading, start);
  for (const step of steps) {
    value = memberAt(value, step);
    pointer = pointerTo(pointer, step);
    base = baseOf(reading, isObject(value) ? reading.byObject.get(value) : undefined, base);
  }
  return isObject(value) || typeof value === 'boolean' ? nodeOf(reading, value, pointer, base, 1) : undefined;
}
