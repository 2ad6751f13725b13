import type { JsonObject, JsonValue } from '@countersign/contracts';
import { dialects, keywordsOf, withheldSchema } from './dialects.js';
import { isBefore2019, isEmptyList, isObject } from './keyword.js';
import type { KeywordPlace } from './keyword.js';
import { schemaLimits } from './limits.js';
import { findEndlessReferences } from './endless-reference.js';
import { hasMark, honourLostMarks, isMarked } from './marks.js';
import { addMemberChecks } from './members.js';
import type { Preparation, PreparedSchema } from './prepared-schema.js';
import { addNote, note, notesOf, startReading } from './reading.js';
import type { PrepareOptions, Reading, Reference, Unread } from './reading.js';
import { readPattern } from './read-pattern.js';
import { memberAt, pointerTo, resolveUri, stepsOf, unnamedBase } from './references.js';
import { emptyNode } from './schema-node.js';
import type { SchemaNode } from './schema-node.js';
import { spend } from './work.js';

/** Steps that reading costs: a node some microseconds. */
const stepsPerNode = 20;

/**
 * Reads a schema once, so that values can be checked against it. A part that cannot be honoured is left out, and a note
 * names it: the rest holds. Marks of sensitive values hold in any case, if need be for more than they mean.
 */
export function prepareSchema(root: JsonValue, options: PrepareOptions = {}): Preparation {
  const { bytesMax, nodesMax } = schemaLimits;
  const bytes = bytesOf(root);
  const unchecked = (why: string): Preparation => uncheckedSchema(root, bytes, why);
  if (bytes > bytesMax) return unchecked(`has more than ${String(bytesMax / 1024)} KiB`);
  const reading = startReading(root, options);
  // Marks are searched everywhere, also where nothing is read as a schema.
  spend(reading.work, bytes >> 4);
  const node = nodeOf(reading, root, '', unnamedBase, 1);
  noteDialect(reading, node);
  readAll(reading);
  if (reading.nodes.length > nodesMax) return unchecked(`has more than ${String(nodesMax)} schemas in it`);
  if (reading.work.left < 0) return unchecked('takes more work to read than one request may cost');
  noteEndless(reading);
  const marks = honourLostMarks({ ...reading, rootNode: node });
  if (marks.refusal !== null) return { status: 'refused', ...marks.refusal };
  for (const pointer of marks.pointers)
    addNote(reading, pointer, 'marks no value that is known: all around it is hidden');
  const { nodes, tracks, patterns, programs } = reading;
  const weight = 1000 + nodes.length * 2000 + patterns * 20_000 + programs * 100;
  return { status: 'prepared', schema: { root: node, nodes, tracks, weight, notes: notesOf(reading), bytes } };
}

function bytesOf(root: JsonValue): number {
  return new TextEncoder().encode(JSON.stringify(root)).length;
}

/** A schema beyond the limits checks nothing. If it has any mark, everything is hidden. */
function uncheckedSchema(root: JsonValue, bytes: number, why: string): Preparation {
  const given = { id: 0, pointer: '', verdict: null, isMarked: hasMark(root), isNullable: false };
  const node = emptyNode(given);
  const notes: PreparedSchema['notes'] = [{ pointer: '', why }];
  return { status: 'prepared', schema: { root: node, nodes: [node], tracks: false, weight: 1000, notes, bytes } };
}

function noteDialect(reading: Reading, node: SchemaNode): void {
  const named = memberAt(reading.root, '$schema') ?? null;
  if (named === null || dialects.has(named)) return;
  if (named === withheldSchema)
    note(reading, node, '', 'was not sent: no request can carry it, and the worker knows why');
  else note(reading, node, '/$schema', 'is a dialect that is not known here');
}

function noteEndless(reading: Reading): void {
  const endless = [...findEndlessReferences(reading.nodes)];
  const first = endless.find(({ hasReference }) => hasReference) ?? endless[0];
  if (first === undefined) return;
  for (const node of endless) node.isDoubtful = true;
  const pointer = first.hasReference ? pointerTo(first.pointer, '$ref') : first.pointer;
  addNote(reading, pointer, 'refers to itself without descending into the value');
}

/** Sub-schemas are read from a list, not by recursion: a long chain of references must not fill the stack. */
function readAll(reading: Reading): void {
  while (reading.work.left >= 0 && reading.nodes.length <= schemaLimits.nodesMax) {
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
  if (isEmptyList(schema)) return nodeOf(reading, {}, pointer, base, level);
  const known = isObject(schema) ? reading.byObject.get(schema) : undefined;
  if (known !== undefined) return known;
  const { levelsMax } = schemaLimits;
  const isReadable = isObject(schema) && level <= levelsMax;
  const node = emptyNode({
    ...{ id: reading.nodes.length, pointer, verdict: verdictOf(schema, isReadable) },
    isMarked: isReadable && isMarked(schema),
    isNullable: isReadable && schema['nullable'] === true,
  });
  reading.nodes.push(node);
  spend(reading.work, stepsPerNode);
  if (isReadable) {
    reading.byObject.set(schema, node);
    reading.bases.set(node, base);
    reading.unread.push({ node, schema, level });
    nameNode(reading, node, schema, base);
  } else if (isObject(schema)) note(reading, node, pointer, `is more than ${String(levelsMax)} levels deep`);
  else if (typeof schema !== 'boolean') note(reading, node, pointer, 'must be a schema: an object, true or false');
  return node;
}

/** The value of a boolean schema. What cannot be read as a schema checks nothing. */
function verdictOf(schema: JsonValue, isReadable: boolean): boolean | null {
  if (typeof schema === 'boolean') return schema;
  return isReadable ? null : true;
}

/** Notes the `$id` and the anchors of a schema. */
function nameNode(reading: Reading, node: SchemaNode, schema: JsonObject, base: string): void {
  if (node.pointer !== '' && isOtherDialect(reading, schema['$schema'] ?? null)) {
    note(reading, node, pointerTo(node.pointer, '$schema'), 'must be that of the whole schema');
  }
  const own = identify(reading, node, schema, base);
  reading.bases.set(node, own);
  if (own !== base || node.pointer === '') putUri(reading, own, schema, node);
  if (isBefore2019(reading.dialect)) return;
  nameAnchors(reading, node, schema, own);
}

/** A schema that names no dialect has the words of all of them, also for what was put together from others. */
function isOtherDialect({ dialect }: Reading, named: JsonValue): boolean {
  const own = dialects.get(named);
  return named !== null && own !== dialect && (own === undefined || dialect !== 'unnamed');
}

function nameAnchors(reading: Reading, node: SchemaNode, schema: JsonObject, base: string): void {
  const { $anchor: anchor, $dynamicAnchor: dynamic } = schema;
  for (const one of new Set([anchor, dynamic])) {
    if (typeof one === 'string') putUri(reading, `${base}#${one}`, schema, node);
  }
  if (typeof dynamic === 'string') putDynamic(reading, dynamic, node);
  if (schema['$recursiveAnchor'] === true) putDynamic(reading, '', node);
}

function putDynamic({ dynamic }: Reading, name: string, node: SchemaNode): void {
  const others = dynamic.get(name);
  if (others === undefined) dynamic.set(name, [node]);
  else others.push(node);
}

/** The base URI of a schema's references: that of its `$id`, if it has one. */
function identify(reading: Reading, node: SchemaNode, schema: JsonObject, base: string): string {
  const keyword = reading.dialect === 'draft-04' ? 'id' : '$id';
  const id = schema[keyword];
  const isReference = isBefore2019(reading.dialect) && (schema['$ref'] ?? null) !== null;
  if (typeof id !== 'string' || isReference) return base;
  const uri = resolveUri(id, base);
  if (uri === undefined) note(reading, node, pointerTo(node.pointer, keyword), 'must be a URI');
  else if (uri.fragment === '') return uri.resource;
  // The anchors of draft-07.
  else putUri(reading, `${uri.resource}#${uri.fragment}`, schema, node);
  return base;
}

function putUri(reading: Reading, uri: string, schema: JsonValue, node: SchemaNode): void {
  if (!reading.byUri.has(uri)) reading.byUri.set(uri, { schema, node });
  else {
    reading.ambiguous.add(uri);
    note(reading, node, node.pointer, 'has an id or anchor that another schema has too');
  }
}

function readNode(reading: Reading, { node, schema: written, level }: Unread): void {
  const known = keywordsOf(reading.dialect);
  const schema = withoutNulls(written);
  const isReferenceOnly = isBefore2019(reading.dialect) && Object.hasOwn(schema, '$ref');
  const place = placeOf(reading, node, schema, level);
  for (const [name, value] of Object.entries(schema)) {
    if (isReferenceOnly && name !== '$ref') continue;
    known.get(name)?.(value, place, name);
  }
  addMemberChecks(node);
}

/** Many serializers write a keyword that is not there as null. */
function withoutNulls(schema: JsonObject): JsonObject {
  if (!Object.values(schema).includes(null)) return schema;
  return Object.fromEntries(Object.entries(schema).filter(([name, value]) => value !== null || name === 'const'));
}

function placeOf(reading: Reading, node: SchemaNode, schema: JsonObject, level: number): KeywordPlace {
  const base = baseOf(reading, node);
  const at = (path: readonly (string | number)[]): string => pointerTo(node.pointer, ...path);
  const subschema: KeywordPlace['subschema'] = (value, ...path) => nodeOf(reading, value, at(path), base, level + 1);
  const noteAt: KeywordPlace['note'] = (why, ...path) => {
    note(reading, node, at(path), why);
  };
  return {
    node,
    schema,
    dialect: reading.dialect,
    assertsFormats: reading.assertsFormats,
    work: reading.work,
    subschema,
    subschemas: (value, ...path) => {
      if (isEmptyList(value)) return [];
      if (!isObject(value)) {
        noteAt('must be an object of schemas', ...path);
        return [];
      }
      reading.maps.add(value);
      return Object.entries(value).map(([name, one]) => [name, subschema(one, ...path, name)] as const);
    },
    note: noteAt,
    pattern: (text, ...path) => readPattern(reading, text, noteAt, path),
    reference: (uri, keyword, use, mayBe) => {
      node.hasReference = true;
      if (typeof uri !== 'string') {
        noteAt('must be a URI reference', keyword);
        return;
      }
      const one = { from: node, keyword, uri, use, mayBe };
      // The others are resolved last: only then all their targets are known.
      if (keyword === '$ref') reading.references.push(one);
      else reading.references.unshift(one);
    },
    track: () => {
      reading.tracks = true;
    },
  };
}

function follow(reading: Reading, { from, keyword, uri, use, mayBe }: Reference): void {
  const pointer = pointerTo(from.pointer, keyword);
  const target = targetOf(reading, from, uri);
  if (target === undefined || isAmbiguous(reading, from, uri)) reading.lostReferences.push(from);
  const name = dynamicNameOf(reading, keyword, uri, target);
  const possible = name === undefined ? [] : (reading.dynamic.get(name) ?? []);
  if (possible.length > 1) {
    mayBe(possible);
    note(reading, from, pointer, 'leads to another schema by the schemas around it');
  } else if (target !== undefined) use(target);
  else note(reading, from, pointer, 'leads to no schema of this document');
}

/** The name under which a dynamic reference looks for the outermost schema; undefined for one that leads to one place. */
function dynamicNameOf(
  { dynamic }: Reading,
  keyword: string,
  uri: string,
  target: SchemaNode | undefined,
): string | undefined {
  if (keyword === '$ref') return undefined;
  const name = keyword === '$recursiveRef' ? '' : uri.slice(uri.indexOf('#') + 1);
  const isDynamic = target === undefined || dynamic.get(name)?.includes(target) === true;
  return isDynamic ? name : undefined;
}

function isAmbiguous(reading: Reading, from: SchemaNode, uri: string): boolean {
  const { resource, fragment } = resolveUri(uri, baseOf(reading, from)) ?? { resource: '', fragment: '' };
  return reading.ambiguous.has(resource) || reading.ambiguous.has(`${resource}#${fragment}`);
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
