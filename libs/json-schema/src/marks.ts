import type { JsonObject, JsonValue, MarkedPlaces } from '@countersign/contracts';
import { isFound } from './assertions.js';
import { isObject } from './keyword.js';
import type { PreparedSchema } from './prepared-schema.js';
import { pointerTo } from './references.js';
import { createRun } from './run.js';
import type { Run } from './run.js';
import type { SchemaNode, SchemaParts } from './schema-node.js';
import { spend } from './work.js';
import type { Work } from './work.js';

/** Returns whether a schema marks its value as sensitive. */
export function isMarked(schema: JsonObject): boolean {
  const { sensitive, 'x-sensitive': extension, writeOnly, format } = schema;
  const isPassword = typeof format === 'string' && format.toLowerCase() === 'password';
  return isPassword || [sensitive, extension, writeOnly].some(isYes);
}

/** Writers without a type for it send a text or a number. */
function isYes(mark: JsonValue | undefined): boolean {
  return mark === true || mark === 1 || (typeof mark === 'string' && /^(?:true|yes|1)$/i.test(mark));
}

/** Keywords with data in them: a mark there is no mark. */
const dataKeywords = ['const', 'enum', 'default', 'examples', 'example'];

interface ReadSchema {
  readonly nodes: readonly SchemaNode[];
  readonly root: JsonValue;
  readonly rootNode: SchemaNode;
  readonly byObject: ReadonlyMap<JsonObject, SchemaNode>;
  readonly maps: ReadonlySet<JsonObject>;
  readonly lostReferences: readonly SchemaNode[];
}

/** Returns whether anything in a JSON value looks like a mark. */
export function hasMark(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return (isObject(value) && isMarked(value)) || Object.values<JsonValue>(value as JsonObject).some(hasMark);
}

/** Marks that stand for no value of their own. */
export interface LostMarks {
  /** The marks that hide all of the value around them. */
  readonly pointers: readonly string[];
  /** A mark on the names of the arguments: there is no value around them. */
  readonly refusal: { readonly pointer: string; readonly reason: string } | null;
}

/**
 * Finds the marks under a keyword that is not understood, and those on a name. The value that the schema around them
 * speaks about is hidden whole.
 */
export function honourLostMarks(schema: ReadSchema): LostMarks {
  const { root, rootNode } = schema;
  const unread = unreadWords(schema, root, '', rootNode);
  const lost = [...unread.filter(({ isReference }) => !isReference), ...marksOfNames(schema)];
  const inPlace = new Set([rootNode]);
  for (const node of inPlace) for (const part of [...node.parts.always, ...node.parts.sometimes]) inPlace.add(part);
  const onNames = lost.find(({ owner, isName }) => isName && inPlace.has(owner));
  if (onNames !== undefined) {
    const reason = 'marks a name as sensitive: only values can be';
    return { pointers: [], refusal: { pointer: onNames.pointer, reason } };
  }
  for (const { owner } of lost) owner.isMarked = true;
  const references = unread.filter(({ isReference }) => isReference).map(({ owner }) => owner);
  hideLostTargets(schema, [...references, ...schema.lostReferences]);
  return { pointers: lost.map(({ pointer }) => pointer), refusal: null };
}

/** A reference that is not followed may mean any mark that no other reference leads to: its value is hidden. */
function hideLostTargets({ nodes, rootNode }: ReadSchema, from: readonly SchemaNode[]): void {
  if (from.length === 0) return;
  const reached = reachableFrom([rootNode]);
  if (nodes.some((node) => node.isMarked && !reached.has(node))) for (const node of from) node.isMarked = true;
}

interface LostMark {
  readonly pointer: string;
  /** The schema around the mark. */
  readonly owner: SchemaNode;
  readonly isName: boolean;
  readonly isReference: boolean;
}

function marksOfNames({ nodes, rootNode }: ReadSchema): readonly LostMark[] {
  const withMark = leadingToMark(nodes);
  if (withMark.size === 0) return [];
  return [...reachableFrom([rootNode])].flatMap((owner) => {
    const { propertyNames: names } = owner.parts;
    return names === undefined || !withMark.has(names)
      ? []
      : [{ pointer: names.pointer, owner, isName: true, isReference: false }];
  });
}

/** The schemas with a mark in them, or in what they refer to. */
function leadingToMark(nodes: readonly SchemaNode[]): ReadonlySet<SchemaNode> {
  const found = new Set(nodes.filter((node) => node.isMarked));
  if (found.size === 0) return found;
  const before = new Map<SchemaNode, SchemaNode[]>(nodes.map((node) => [node, []]));
  for (const node of nodes) for (const part of partsAbout(node)) before.get(part)?.push(node);
  for (const node of found) for (const one of before.get(node) ?? []) found.add(one);
  return found;
}

function membersToSearch(value: JsonValue & object, isSchema: boolean): readonly (readonly [string, JsonValue])[] {
  const members = Object.entries<JsonValue>(value as JsonObject);
  return isSchema ? members.filter(([key]) => !dataKeywords.includes(key)) : members;
}

/** The marks and the references at places that are not read as schemas. */
function unreadWords(schema: ReadSchema, value: JsonValue, pointer: string, around: SchemaNode): readonly LostMark[] {
  if (typeof value !== 'object' || value === null) return [];
  const object = isObject(value) ? value : {};
  const node = schema.byObject.get(object);
  const isRead = node !== undefined || schema.maps.has(object);
  const owner = node ?? around;
  const word = { pointer, owner, isName: false };
  const own = isRead
    ? []
    : [
        ...(isMarked(object) ? [{ ...word, isReference: false }] : []),
        ...(hasReference(object) ? [{ ...word, isReference: true }] : []),
      ];
  const members = membersToSearch(value, node !== undefined);
  return [...own, ...members.flatMap(([key, member]) => unreadWords(schema, member, pointerTo(pointer, key), owner))];
}

function hasReference(object: JsonObject): boolean {
  return ['$ref', '$dynamicRef', '$recursiveRef'].some((name) => typeof object[name] === 'string');
}

function partsAbout({ parts }: SchemaNode): readonly SchemaNode[] {
  const { additionalProperties, unevaluatedProperties, items, contains, unevaluatedItems } = parts;
  return [
    ...parts.always,
    ...parts.sometimes,
    ...parts.properties.values(),
    ...parts.patternProperties.map(([, part]) => part),
    ...parts.prefixItems,
    ...[additionalProperties, unevaluatedProperties, items, contains, unevaluatedItems].filter(
      (part) => part !== undefined,
    ),
  ];
}

function reachableFrom(nodes: readonly SchemaNode[]): ReadonlySet<SchemaNode> {
  const reached = new Set(nodes);
  for (const node of reached) for (const part of partsAbout(node)) reached.add(part);
  return reached;
}

/** The schemas that apply to one value: this one, and all that it refers to, under any condition. */
interface Place {
  readonly nodes: readonly SchemaNode[];
  readonly isMarked: boolean;
  readonly members: Map<string | number, Place | null>;
}

/**
 * The places that a schema marks as sensitive, for a walk through the value; null when it marks nothing. A mark counts
 * wherever it may apply: in every branch of `anyOf`, `if` and similar, and `contains` for every item.
 */
export function markedPlaces({ root, nodes }: PreparedSchema, work: Work): MarkedPlaces<Place> | null {
  if (!nodes.some((node) => node.isMarked)) return null;
  const run = createRun(work, false, null);
  const places = new Map<string, Place>();
  const placeOf = (starts: readonly SchemaNode[]): Place | null => {
    const inPlace = new Set(starts);
    for (const node of inPlace) {
      spend(work, 1 + node.parts.always.length + node.parts.sometimes.length);
      for (const part of [...node.parts.always, ...node.parts.sometimes]) inPlace.add(part);
    }
    if (inPlace.size === 0 || work.left < 0) return null;
    const ids = [...inPlace].map((node) => node.id).sort((a, b) => a - b);
    const key = ids.join();
    const place = places.get(key) ?? {
      nodes: [...inPlace],
      isMarked: [...inPlace].some((node) => node.isMarked),
      members: new Map(),
    };
    places.set(key, place);
    return place;
  };
  const whole = placeOf([root]);
  if (whole === null) return null;
  const everything: Place = { nodes: [], isMarked: true, members: new Map() };
  const member = (place: Place, key: string | number): Place | null => {
    if (place.isMarked) return everything;
    if (!spend(work, 1)) return null;
    const known = place.members.get(key);
    if (known !== undefined) return known;
    const found = placeOf(place.nodes.flatMap((node) => partsFor(node, key, run)));
    place.members.set(key, found);
    return found;
  };
  return { whole, member, isMarked: (place) => place.isMarked };
}

function partsFor(node: SchemaNode, key: string | number, run: Run): readonly SchemaNode[] {
  if (!spend(run.work, 1)) return [];
  return typeof key === 'string' ? partsForName(node, key, run) : partsForIndex(node, key, run);
}

function partsForName(node: SchemaNode, name: string, run: Run): readonly SchemaNode[] {
  const { properties, additionalProperties, unevaluatedProperties } = node.parts;
  const known = properties.get(name);
  const { patternProperties } = node.parts;
  const found = patternProperties
    .filter(([pattern]) => pattern !== null && isFound(pattern, name, run))
    .map(([, part]) => part);
  if (known !== undefined) found.push(known);
  if (found.length === 0 && additionalProperties !== undefined) found.push(additionalProperties);
  // A pattern that cannot be checked may match any name.
  found.push(...patternProperties.filter(([pattern]) => pattern === null).map(([, part]) => part));
  const isSeen = (parts: SchemaParts): boolean =>
    parts.additionalProperties !== undefined ||
    parts.properties.has(name) ||
    parts.patternProperties.some(([pattern]) => pattern !== null && isFound(pattern, name, run));
  if (unevaluatedProperties !== undefined && !isSeenInAnyCase(node, isSeen, run.work))
    found.push(unevaluatedProperties);
  return found;
}

function partsForIndex(node: SchemaNode, index: number, run: Run): readonly SchemaNode[] {
  const { prefixItems, items, contains, unevaluatedItems } = node.parts;
  const isSeen = (parts: SchemaParts): boolean => parts.items !== undefined || index < parts.prefixItems.length;
  const others =
    unevaluatedItems !== undefined && !isSeenInAnyCase(node, isSeen, run.work) ? unevaluatedItems : undefined;
  return [prefixItems[index] ?? items, contains, others].filter((part) => part !== undefined);
}

/**
 * Returns whether a schema that applies unconditionally evaluates a member, so that it cannot be an unevaluated one.
 */
function isSeenInAnyCase(node: SchemaNode, isSeen: (parts: SchemaParts) => boolean, work: Work): boolean {
  const always = new Set([node]);
  for (const one of always) {
    if (!spend(work, 1)) return false;
    if (isSeen(one.parts)) return true;
    for (const part of one.parts.always) always.add(part);
  }
  return false;
}
