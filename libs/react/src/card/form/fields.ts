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

/** What the form still may have, and which values are hidden. */
interface Bounds {
  readonly budget: { fields: number };
  readonly levels: number;
  readonly hidden: ReadonlySet<string>;
}

/** The fields of arguments: those that the schema names, in its order, then the others that are there. */
export function fieldsOf(value: JsonObject, schema: JsonObject | null, hidden: readonly string[]): readonly Field[] {
  const shape = shapeOf({ schema: schema ?? true, root: schema });
  return membersIn(value, shape, '', { budget: { fields: fieldsMax }, levels: levelsMax, hidden: new Set(hidden) });
}

function membersIn(value: JsonObject, shape: Shape, pointer: string, bounds: Bounds): readonly Field[] {
  const members = new Map(membersOf(value, pointer).map((member) => [member.name, member.value]));
  const names = [...shape.properties.keys(), ...[...members.keys()].filter((name) => !shape.properties.has(name))];
  const fields: Field[] = [];
  for (const name of names) {
    if (bounds.budget.fields <= 0) break;
    const at = `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    const field = fieldOf(name, at, members.get(name), shape.properties.get(name) ?? shape.others, bounds);
    const isRequired = shape.required.has(name);
    fields.push({ ...field, isRequired, canRemove: !isRequired });
  }
  return fields;
}

function fieldOf(
  name: string,
  pointer: string,
  value: JsonValue | undefined,
  part: Shape['others'],
  bounds: Bounds,
): Field {
  bounds.budget.fields -= 1;
  const shape = shapeOf(part);
  const { title, hint, isNullable } = shape;
  const control = controlOf(pointer, value, shape, bounds);
  return { pointer, name, title, hint, isRequired: false, canRemove: true, value, isNullable, control };
}

function controlOf(pointer: string, value: JsonValue | undefined, shape: Shape, bounds: Bounds): Field['control'] {
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
      return { kind, fields: membersIn(value, shape, pointer, { ...bounds, levels: bounds.levels - 1 }) };
    }
    case 'list':
      return listControl(pointer, Array.isArray(value) ? value : [], shape, bounds);
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

function listControl(pointer: string, items: readonly JsonValue[], shape: Shape, bounds: Bounds): Field['control'] {
  const { hidden, budget, levels } = bounds;
  if (items.length > 0 && (levels <= 0 || items.length > budget.fields)) return jsonOnly('deep');
  const isFixed = [...hidden].some((place) => place.startsWith(`${pointer}/`));
  const fields = items.map((item, index) => ({
    ...fieldOf(String(index), `${pointer}/${String(index)}`, item, shape.items, { ...bounds, levels: levels - 1 }),
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
