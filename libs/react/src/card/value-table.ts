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

/**
 * The name of a member, in quotes where it could be read as something else: `{ "0": … }` is no list, and a name may be empty.
 */
export function shownName(name: string): string {
  return plainName.test(name) ? name : `“${name}”`;
}
