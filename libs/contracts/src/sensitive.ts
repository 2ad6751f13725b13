import type { JsonObject, JsonValue } from './json.js';
import { isMask, maskOf, masksIn, saltOfMember } from './sensitive-mask.js';
import type { PlaceSalt } from './sensitive-mask.js';
import { isContainer, membersOf, secretMembersOf } from './sensitive-members.js';
import type { JsonContainer } from './sensitive-members.js';
import { maskText, mayHideText, unmaskText } from './sensitive-text.js';

/** A schema's marks for the places of a value, for a walk from the root to its members. */
export interface MarkedPlaces<Place> {
  readonly whole: Place;
  /** The place of a member; null when the schema has no mark there. */
  readonly member: (place: Place, key: string | number) => Place | null;
  readonly isMarked: (place: Place) => boolean;
}

/** A value that a reader does not see, and who hides it: the tool's schema, or the name that the value has. */
export interface HiddenValue {
  readonly pointer: string;
  readonly why: 'schema' | 'name';
}

function step(pointer: string, key: string): string {
  return `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/**
 * The JSON pointers (RFC 6901) of the values that only the requester, the claim and an auditor who asks for clear
 * values may see: secret-looking names, and the places that `marked` marks. Each value is visited once.
 */
export function sensitivePointers<Place>(value: JsonValue, marked: MarkedPlaces<Place> | null = null): string[] {
  const pointers: string[] = [];
  const visit = (node: JsonValue, place: Place | null, pointer: string): void => {
    if (!isContainer(node)) return;
    const isSecret = secretMembersOf(node);
    for (const [key, child] of membersOf(node)) {
      if (child === null) continue;
      const inner = placeOf(marked, place, node, key);
      const isMarked = inner !== null && marked?.isMarked(inner) === true;
      if (isMarked || isSecret(key)) pointers.push(step(pointer, key));
      else if (isContainer(child)) visit(child, inner, step(pointer, key));
    }
  };
  visit(value, marked?.whole ?? null, '');
  return pointers;
}

function placeOf<Place>(
  marked: MarkedPlaces<Place> | null,
  place: Place | null,
  container: JsonContainer,
  key: string,
): Place | null {
  if (marked === null || place === null) return null;
  return marked.member(place, Array.isArray(container) ? Number(key) : key);
}

/**
 * The values of `value` that {@link maskAt} hides or changes: those at `pointers` that are there, each with why it is
 * hidden, and the strings in which a part is masked. Ascending, in the order of the value.
 */
export function hiddenValues(value: JsonValue, pointers: readonly string[]): readonly HiddenValue[] {
  if (pointers.length === 0 && !hidesText(value)) return [];
  const hidden: HiddenValue[] = [];
  const visit = (node: JsonValue, tree: PointerTree | undefined, pointer: string): void => {
    if (hasMaskedText(node)) hidden.push({ pointer, why: 'name' });
    if (!isContainer(node)) return;
    const isSecret = secretMembersOf(node);
    for (const [key, child] of membersOf(node)) {
      const inner = tree?.members.get(key);
      if (inner?.isEnd === true) hidden.push({ pointer: step(pointer, key), why: isSecret(key) ? 'name' : 'schema' });
      else visit(child, inner, step(pointer, key));
    }
  };
  visit(value, pointerTree(pointers), '');
  return hidden;
}

/** The values of `value` that {@link maskByName} hides or changes: a result has no schema, so names alone decide. */
export function hiddenByName(value: JsonValue): readonly HiddenValue[] {
  return hiddenValues(value, sensitivePointers(value));
}

/** Pointers as a tree, so that a walk can compare them without building a pointer for each value. */
interface PointerTree {
  readonly members: Map<string, PointerTree>;
  isEnd: boolean;
}

function pointerTree(pointers: readonly string[]): PointerTree {
  const root: PointerTree = { members: new Map(), isEnd: false };
  for (const pointer of pointers) {
    let node = root;
    for (const part of pointer.split('/').slice(1)) {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
      const next: PointerTree = node.members.get(key) ?? { members: new Map(), isEnd: false };
      node.members.set(key, next);
      node = next;
    }
    node.isEnd = true;
  }
  return root;
}

/**
 * A copy of a JSON value with the values at `pointers` masked, and with what looks secret in strings that are JSON texts
 * themselves or have URLs in them; the value itself when there is nothing of either.
 */
export function maskAt<T extends JsonValue>(value: T, pointers: readonly string[], salt: string | null): T {
  if (pointers.length === 0 && !hidesText(value)) return value;
  return rewrite<PointerTree | undefined>(
    value,
    pointerTree(pointers),
    (node, tree) => (tree?.isEnd === true ? maskOf(node, salt) : maskedText(node, salt)),
    (tree) => (key) => tree?.members.get(key),
  ) as T;
}

/**
 * The length of the arguments as people see them, as JSON. Attack: a person who may not see a hidden value reads its length
 * from whether an approval counts as fast.
 */
export function shownCharacters(args: JsonObject, pointers: readonly string[]): number {
  return JSON.stringify(maskAt(args, pointers, null)).length;
}

/**
 * {@link maskAt} for arguments that a person edited: equal values at two places have different masks. Attack: an approver
 * writes a guess next to a value that they may not see, and compares the masks.
 */
export function maskEdited(value: JsonObject, pointers: readonly string[], salt: string | null): JsonObject {
  if (pointers.length === 0 && !hidesText(value)) return value;
  return rewrite<MaskedPlace>(
    value,
    { tree: pointerTree(pointers), salt: () => salt },
    (node, place) => {
      if (place.tree?.isEnd === true) return maskOf(node, place.salt());
      return typeof node === 'string' && mayHideText(node) ? maskText(node, place.salt()) : undefined;
    },
    (place) => (key) => ({ tree: place.tree?.members.get(key), salt: saltOfMember(place.salt, key) }),
  ) as JsonObject;
}

interface MaskedPlace {
  readonly tree: PointerTree | undefined;
  readonly salt: PlaceSalt;
}

/** Stands for a hidden value where nothing may depend on it. Compared by identity. */
export const concealed: JsonObject = Object.freeze({});

/** A copy of a JSON object with each value that {@link maskAt} hides or changes replaced by {@link concealed}. */
export function concealAt(value: JsonObject, pointers: readonly string[]): JsonObject {
  if (pointers.length === 0 && !hidesText(value)) return value;
  return rewrite<PointerTree | undefined>(
    value,
    pointerTree(pointers),
    (node, tree) => (tree?.isEnd === true || hasMaskedText(node) ? concealed : undefined),
    (tree) => (key) => tree?.members.get(key),
  ) as JsonObject;
}

function hasMaskedText(node: JsonValue): boolean {
  return typeof node === 'string' && mayHideText(node) && maskText(node, null) !== node;
}

function hidesText(value: JsonValue): boolean {
  if (typeof value === 'string') return mayHideText(value);
  return isContainer(value) && Object.values(value).some(hidesText);
}

function maskedText(node: JsonValue, salt: string | null): string | undefined {
  return typeof node === 'string' ? maskText(node, salt) : undefined;
}

/** A copy of a JSON value with every value under a secret-looking name masked, without a hash. */
export function maskByName<T extends JsonValue>(value: T): T {
  return rewrite(
    value,
    false,
    (node, isSecret) => (isSecret && node !== null ? maskOf(node, null) : maskedText(node, null)),
    (_, container) => secretMembersOf(container),
  ) as T;
}

/** How many masks without an original are named at most. */
const foreignMax = 100;

/**
 * Returns the edited arguments with each returned mask replaced by its original value, also inside strings that are
 * JSON texts or contain URLs. A mask without an original at its place is kept and named in `foreign`, to be refused;
 * only the first hundred. `restored` has the pointers of the values that stay hidden under any name: restored values,
 * and strings with a restored value that would not be masked again. `isEdited`: the masks are those of
 * {@link maskEdited}.
 */
export function unmask(
  edited: JsonObject,
  original: JsonObject,
  { salt, isEdited = false }: { readonly salt: string; readonly isEdited?: boolean },
): { readonly arguments: JsonObject; readonly foreign: readonly string[]; readonly restored: readonly string[] } {
  const foreign: string[] = [];
  const restored: string[] = [];
  const replace = (node: JsonValue, { before, pointer, salt: saltOf }: EditedPlace): JsonValue | undefined => {
    if (typeof node !== 'string') return undefined;
    // The agent's own text, even if it reads like a mask: it hides nothing, and nothing is put back.
    if (node === before) return node;
    const salt = saltFor(node, saltOf);
    const value = isMask(node) ? unmaskValue(node, before, salt) : unmaskText(node, before, salt);
    if (value === undefined && foreign.length < foreignMax) foreign.push(pointer);
    const isWhole = value !== undefined && isMask(node);
    if (isWhole || (typeof value === 'string' && isExposed(node, value, salt))) restored.push(pointer);
    return value;
  };
  const whole: EditedPlace = { before: original, pointer: '', salt: () => salt };
  const result = rewrite(edited, whole, replace, (place) => (key) => ({
    before: isContainer(place.before) && Object.hasOwn(place.before, key) ? memberAt(place.before, key) : undefined,
    pointer: step(place.pointer, key),
    salt: isEdited ? saltOfMember(place.salt, key) : place.salt,
  }));
  return { arguments: result as JsonObject, foreign, restored };
}

/** Without a mask the salt is not needed. */
function saltFor(edited: string, salt: PlaceSalt): string {
  return masksIn(edited).length === 0 ? '' : (salt() ?? '');
}

/**
 * Returns whether a restored mask inside an edited text would not be masked again, because the name next to it was
 * changed.
 */
function isExposed(edited: string, restored: string, salt: string): boolean {
  if (edited === restored) return false;
  const hiddenAgain = [...masksIn(maskText(restored, salt))];
  return masksIn(edited).some((mask) => {
    const at = hiddenAgain.indexOf(mask);
    if (at >= 0) hiddenAgain.splice(at, 1);
    return at < 0;
  });
}

interface EditedPlace {
  readonly before: JsonValue | undefined;
  readonly pointer: string;
  readonly salt: PlaceSalt;
}

function memberAt(container: JsonContainer, key: string): JsonValue | undefined {
  return (container as Readonly<Record<string, JsonValue>>)[key];
}

function unmaskValue(mask: string, before: JsonValue | undefined, salt: string): JsonValue | undefined {
  return before !== undefined && maskOf(before, salt) === mask ? before : undefined;
}

/** A copy with the nodes replaced for which `replace` returns a value; the value itself where none is. `placesIn` gives each member its place. */
function rewrite<Place>(
  node: JsonValue,
  place: Place,
  replace: (node: JsonValue, place: Place) => JsonValue | undefined,
  placesIn: (place: Place, container: JsonContainer) => (key: string) => Place,
): JsonValue {
  const replaced = replace(node, place);
  if (replaced !== undefined) return replaced;
  if (!isContainer(node)) return node;
  const placeOf = placesIn(place, node);
  const members = membersOf(node);
  const rewritten = members.map(([key, child]) => rewrite(child, placeOf(key), replace, placesIn));
  if (members.every(([, child], at) => child === rewritten[at])) return node;
  return Array.isArray(node)
    ? rewritten
    : Object.fromEntries(members.map(([key], at) => [key, rewritten[at] as JsonValue]));
}
