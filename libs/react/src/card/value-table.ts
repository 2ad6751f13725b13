import type { JsonValue } from '@countersign/contracts';
import type { Member } from '@countersign/text';
import { membersOf } from '@countersign/text';

/** A list of objects as a table: its columns, and a row for each item. A cell is undefined where the item has no such member. */
export interface ValueTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (Member | undefined)[])[];
}

/** More columns are not read on one line. */
const columnsMax = 6;
const nameMax = 40;
const textMax = 200;

/** Returns a list of flat objects as a table; undefined: it is shown as a tree. `isBelow`: the value is shown elsewhere. */
export function tableOf(
  value: JsonValue,
  pointer: string,
  isBelow: (pointer: string) => boolean,
): ValueTable | undefined {
  if (!Array.isArray(value) || value.length < 2) return undefined;
  const items = membersOf(value, pointer).map((item) => ({ item, members: membersOf(item.value, item.pointer) }));
  const columns: string[] = [];
  for (const { item, members } of items) {
    if (Array.isArray(item.value) || members.length === 0) return undefined;
    for (const { name } of members) if (!columns.includes(name)) columns.push(name);
    if (columns.length > columnsMax || !members.every((member) => isCell(member, isBelow))) return undefined;
  }
  const rows = items.map(({ members }) => columns.map((column) => members.find(({ name }) => name === column)));
  return { columns, rows };
}

function isCell({ name, pointer, value }: Member, isBelow: (pointer: string) => boolean): boolean {
  if (name.length > nameMax || isBelow(pointer)) return false;
  return typeof value === 'string' ? value.length <= textMax : typeof value !== 'object' || value === null;
}

const inlineMax = 12;
const inlineTextMax = 40;

/** Two values on one line are told apart by their quotes, so a text with such quotes has a line of its own. */
const quotes = /[“”]/;

/** Returns whether a list is read on one line: a few short values. */
export function isInline(value: JsonValue, pointer: string, isBelow: (pointer: string) => boolean): boolean {
  if (!Array.isArray(value) || value.length === 0 || value.length > inlineMax) return false;
  return membersOf(value, pointer).every((member) => {
    const { value: item } = member;
    return (
      isCell(member, isBelow) && (typeof item !== 'string' || (item.length <= inlineTextMax && !quotes.test(item)))
    );
  });
}

const plainName = /^[\p{L}_$][\p{L}\p{M}\p{N}_.$-]*$/u;

/** From this depth on, nested values have no indentation but paths: each level takes room, and the last ones would have none. */
const depthMax = 4;

/**
 * Returns the members as they are shown at this depth. From a depth on, the values inside of them stand in their place, and their names are
 * paths. No two values have the same paths: a list item is `[0]`, a member `/name`, and a name that could be read as a path is in quotes.
 * Attack: a value in so many others that it stands to the side of the screen.
 */
export function membersAt(
  depth: number,
  { value, pointer, isBelow }: { value: JsonValue; pointer: string; isBelow: (pointer: string) => boolean },
): readonly Member[] {
  const members = membersOf(value, pointer);
  if (depth < depthMax) return members;
  const isList = Array.isArray(value);
  return members.flatMap((member) => {
    const name = isList
      ? `[${member.name}]`
      : `/${plainName.test(member.name) ? member.name : JSON.stringify(member.name)}`;
    const place = { value: member.value, pointer: member.pointer, isBelow };
    if (!isTree(place)) return [{ ...member, name }];
    return membersAt(depth, place).map((inner) => ({ ...inner, name: name + inner.name }));
  });
}

/** Returns whether the names of a member are paths at this depth. */
export function hasPaths(depth: number): boolean {
  return depth >= depthMax;
}

/** Returns whether a value is shown as members, and not on one line, as a table or elsewhere. */
export function isTree({ value, pointer, isBelow }: Parameters<typeof membersAt>[1]): boolean {
  const isElsewhere = isBelow(pointer) || isInline(value, pointer, isBelow) || tableOf(value, pointer, isBelow);
  return !isElsewhere && membersOf(value, pointer).length > 0;
}

/**
 * The name of a member, in quotes where it could be read as something else: `{ "0": … }` is no list, and a name may be empty.
 */
export function shownName(name: string): string {
  return plainName.test(name) ? name : `“${name}”`;
}
