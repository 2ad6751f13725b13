import type { JsonObject, JsonValue } from '@countersign/contracts';
import { membersOf, segmentsOf } from '@countersign/text';
import { isObject } from '../../text/json-tree.js';
import { shapeOf } from './shape.js';
import type { Shape } from './shape.js';

/** A value that a form cannot show as it is. It is edited as JSON. */
export type JsonOnly = 'hidden' | 'unseen' | 'other' | 'deep';

/** A value of the arguments, and how a form shows it. */
export interface Field {
  readonly pointer: string;
  readonly name: string;
  /** What the tool says of it, from the agent: to be marked. */
  readonly title: string;
  readonly hint: string;
  readonly isRequired: boolean;
  readonly canRemove: boolean;
  /** Undefined: the arguments do not have it. */
  readonly value: JsonValue | undefined;
  readonly isNullable: boolean;
  readonly control:
    | { readonly kind: 'text'; readonly isLong: boolean }
    | { readonly kind: 'number' | 'boolean' }
    | { readonly kind: 'choice'; readonly choices: readonly JsonValue[] }
    | { readonly kind: 'group'; readonly fields: readonly Field[] }
    | {
        readonly kind: 'list';
        readonly fields: readonly Field[];
        /** A first value for one more; undefined: the schema does not say which. */
        readonly item: JsonValue | undefined;
        /** One of them has a hidden value, which stays at its place: none is added or removed. */
        readonly isFixed: boolean;
      }
    | { readonly kind: 'json'; readonly why: JsonOnly };
}

/** A form has at most this many fields, in at most this many levels. What is beyond is edited as JSON. */
const fieldsMax = 200;
const levelsMax = 6;

/** What a form leaves to the JSON because it would be too long. */
export interface Left {
  /** Values of the arguments. */
  readonly values: number;
  /** What the schema names, and the arguments do not have. */
  readonly absent: number;
}

/** The fields of a form, and what it leaves out. */
export interface Form {
  readonly fields: readonly Field[];
  readonly left: Left;
}

/** How many fields there may still be, and how many of them for what is absent; and how much was left out. */
interface Budget {
  fields: number;
  absentFields: number;
  readonly left: { values: number; absent: number };
}

/** What the form still may have, and which values are hidden. */
interface Bounds {
  readonly budget: Budget;
  readonly levels: number;
  readonly hidden: ReadonlySet<string>;
}

/**
 * The form of arguments: first what is recorded, then what only the schema names. A schema pushes no value out of the form.
 * @param recorded the arguments before the person changed them: a field stays at its place while they do
 */
export function formOf(
  value: JsonObject,
  schema: JsonObject | null,
  hidden: readonly string[],
  recorded: JsonObject = value,
): Form {
  const shape = shapeOf({ schema: schema ?? true, root: schema });
  const left = { values: 0, absent: 0 };
  const budget = { fields: fieldsMax, absentFields: fieldsMax - sizeOf(value), left };
  const bounds = { budget, levels: levelsMax, hidden: new Set(hidden) };
  const fields = membersIn({ value, recorded }, shape, '', bounds);
  return { fields, left };
}

/** How many values are in a value, at all its levels: at most as many as a form may have. */
function sizeOf(value: JsonValue): number {
  const found = [value];
  for (const one of found) {
    if (found.length > fieldsMax) return fieldsMax;
    for (const { value: inner } of membersOf(one, '')) found.push(inner);
  }
  return found.length - 1;
}

/** A value as it is now, and as it was before the person changed it. */
interface Versions<T extends JsonValue | undefined = JsonValue | undefined> {
  readonly value: T;
  readonly recorded: JsonValue | undefined;
}

function membersIn(of: Versions<JsonObject>, shape: Shape, pointer: string, bounds: Bounds): readonly Field[] {
  const { budget } = bounds;
  const [now, before] = [membersByName(of.value), membersByName(of.recorded)];
  const fields: Field[] = [];
  for (const name of namesOf(now, before, shape)) {
    const value = now.get(name);
    const isAbsent = value === undefined;
    if ((isAbsent ? budget.absentFields : budget.fields) <= 0) {
      budget.left[isAbsent ? 'absent' : 'values'] += 1;
      continue;
    }
    const at = `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    const versions = { value, recorded: before.get(name) };
    const field = fieldOf(name, at, versions, shape.properties.get(name) ?? shape.others, bounds);
    const isRequired = shape.required.has(name);
    fields.push({ ...field, isRequired, canRemove: !isRequired });
  }
  budget.left.absent += shape.cutNames.filter((name) => !now.has(name) && !before.has(name)).length;
  return fields;
}

type ByName = ReadonlyMap<string, JsonValue>;

function membersByName(value: JsonValue | undefined): ByName {
  return new Map(isObject(value ?? null) ? membersOf(value ?? null, '').map((one) => [one.name, one.value]) : []);
}

/** What is recorded, what the person added, what only the schema names. Among the recorded, the order is the schema's. */
function namesOf(now: ByName, before: ByName, { properties }: Shape): ReadonlySet<string> {
  const named = [...properties.keys()];
  const added = [...now.keys()].filter((name) => !properties.has(name));
  const recorded = [...before.keys()].filter((name) => now.has(name) || properties.has(name));
  return new Set([...named.filter((name) => before.has(name)), ...recorded, ...added, ...named]);
}

function fieldOf(name: string, pointer: string, versions: Versions, part: Shape['others'], bounds: Bounds): Field {
  bounds.budget.fields -= 1;
  if (versions.value === undefined) bounds.budget.absentFields -= 1;
  const shape = shapeOf(part);
  const { title, hint, isNullable } = shape;
  const control = controlOf(pointer, versions, shape, bounds);
  const { value } = versions;
  return { pointer, name, title, hint, isRequired: false, canRemove: true, value, isNullable, control };
}

function controlOf(pointer: string, versions: Versions, shape: Shape, bounds: Bounds): Field['control'] {
  const { value, recorded } = versions;
  if (bounds.hidden.has(pointer)) return jsonOnly('hidden');
  const kind = kindOf(value, shape);
  switch (kind) {
    case 'choice':
      return { kind, choices: shape.choices ?? [] };
    case 'text':
      return textControl(typeof value === 'string' ? value : '');
    case 'group': {
      if (!isObject(value)) return { kind, fields: [] };
      if (bounds.levels <= 0) return jsonOnly('deep');
      return { kind, fields: membersIn({ value, recorded }, shape, pointer, { ...bounds, levels: bounds.levels - 1 }) };
    }
    case 'list':
      return listControl(pointer, { value: listOf(value), recorded }, shape, bounds);
    case 'number':
    case 'boolean':
      return { kind };
    case undefined:
      return jsonOnly('other');
  }
}

function jsonOnly(why: JsonOnly): Field['control'] {
  return { kind: 'json', why };
}

/** Attack: a field shows a character that turns the text around, or that cannot be seen, as the browser likes. */
function textControl(text: string): Field['control'] {
  const isSeen = segmentsOf(text, { partedBy: '\n' }).every(({ kind }) => kind === 'text');
  return isSeen ? { kind: 'text', isLong: text.includes('\n') || text.length > 80 } : jsonOnly('unseen');
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

function listControl(
  pointer: string,
  { value: items, recorded }: Versions & { readonly value: readonly JsonValue[] },
  shape: Shape,
  bounds: Bounds,
): Field['control'] {
  const before = listOf(recorded);
  const { hidden, budget, levels } = bounds;
  if (items.length > 0 && (levels <= 0 || items.length > budget.fields)) return jsonOnly('deep');
  const isFixed = [...hidden].some((place) => place.startsWith(`${pointer}/`));
  const inside = { ...bounds, levels: levels - 1 };
  const itemOf = (name: string, versions: Versions): Field =>
    fieldOf(name, `${pointer}/${name}`, versions, shape.items, inside);
  const fields = items.map((item, index) => ({
    ...itemOf(String(index), { value: item, recorded: before[index] }),
    canRemove: !isFixed,
  }));
  const { kind, choices } = shapeOf(shape.items);
  return { kind: 'list', fields, isFixed, item: emptyOf(kind, choices) };
}

type Kind = Exclude<Field['control']['kind'], 'json'>;

/** How a value is shown: as what it is. The schema says it where there is none, or where null stands for none. */
function kindOf(value: JsonValue | undefined, shape: Shape): Kind | undefined {
  if (shape.choices !== undefined && (value === undefined || shape.choices.includes(value))) return 'choice';
  if (value === undefined || (value === null && shape.isNullable)) return shape.kind;
  if (Array.isArray(value)) return 'list';
  switch (typeof value) {
    case 'string':
      return 'text';
    case 'number':
      return 'number';
    case 'boolean':
      return 'boolean';
    default:
      return value === null ? undefined : 'group';
  }
}

/** A first value for what is not there yet; undefined: the schema does not say which. */
export function emptyOf(kind: Kind | undefined, choices: readonly JsonValue[] | undefined): JsonValue | undefined {
  switch (kind) {
    case 'choice':
      return choices?.[0];
    case 'text':
      return '';
    case 'number':
      return 0;
    case 'boolean':
      return false;
    case 'group':
      return {};
    case 'list':
      return [];
    case undefined:
      return undefined;
  }
}
