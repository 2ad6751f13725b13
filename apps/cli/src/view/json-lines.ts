import type { JsonValue } from '@countersign/contracts';
import { membersOf, printable } from '@countersign/text';
import { wrap } from '../text/width.js';

/** Returns the text to print instead of the value at a JSON pointer, or undefined to print the value. */
export type StandIn = (pointer: string, value: JsonValue) => string | undefined;

/** A JSON value as printable lines of at most `columns` columns, indented by two; long strings are wrapped, never cut. */
export function jsonLines(value: JsonValue, columns: number, standIn: StandIn = () => undefined): string[] {
  const lines: string[] = [];
  write({ lines, columns, standIn }, value, { pointer: '', depth: 0, before: '', after: '' });
  return lines;
}

interface Output {
  readonly lines: string[];
  readonly columns: number;
  readonly standIn: StandIn;
}

interface Place {
  readonly pointer: string;
  readonly depth: number;
  /** The text on the line before the value (such as its key) and after it (such as a comma). */
  readonly before: string;
  readonly after: string;
}

function write(out: Output, value: JsonValue, place: Place): void {
  const { depth, before, after, pointer } = place;
  const put = (text: string) => out.lines.push(...wrap('  '.repeat(depth) + text, out.columns, depth * 2 + 2));
  const instead = out.standIn(pointer, value);
  const members = instead === undefined ? membersOf(value, pointer) : [];
  if (members.length === 0) {
    put(`${before}${instead ?? printable(JSON.stringify(value))}${after}`);
    return;
  }
  const isList = Array.isArray(value);
  put(`${before}${isList ? '[' : '{'}`);
  members.forEach((member, index) => {
    const key = isList ? '' : `${printable(JSON.stringify(member.name))}: `;
    const comma = index === members.length - 1 ? '' : ',';
    write(out, member.value, { pointer: member.pointer, depth: depth + 1, before: key, after: comma });
  });
  put(`${isList ? ']' : '}'}${after}`);
}
