import { isMask, maskOf, masksIn, withoutHashes } from './sensitive-mask.js';
import { looksSecret } from './sensitive-names.js';
import type { JsonValue } from './json.js';

/** A value inside a JSON text. */
interface Member {
  readonly pointer: string;
  /** Null for a member of a list. */
  readonly name: string | null;
  readonly start: number;
  readonly end: number;
}

interface Container extends Omit<Member, 'end'> {
  readonly isList: boolean;
  key: string;
  index: number;
  isKeyNext: boolean;
}

const beginning = /^\s*[[{]/;
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** Whether a string begins as the text of a JSON object or list does. */
export function mayBeJsonText(text: string): boolean {
  return beginning.test(text);
}

function isJsonText(text: string): boolean {
  if (!mayBeJsonText(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Every value inside a text that is JSON, ascending by place. It is found in the text itself: a parsed copy would know
 * nothing of a name that is there twice, of blanks, and of the digits of a large number.
 */
function membersOf(text: string): readonly Member[] {
  const found: Member[] = [];
  const open: Container[] = [];
  for (const { 0: token, index: start } of text.matchAll(tokens)) {
    const inside = open.at(-1);
    if (token === '{' || token === '[') open.push(containerAt(token, start, inside));
    else if (token === '}' || token === ']') found.push(ended(open.pop(), start + 1));
    else if (inside !== undefined) readInside(inside, token, start, found);
  }
  return found.sort((one, other) => one.start - other.start);
}

function containerAt(token: '{' | '[', start: number, inside: Container | undefined): Container {
  const isList = token === '[';
  return { ...placeIn(inside), start, isList, key: '', index: 0, isKeyNext: !isList };
}

function ended(container: Container | undefined, end: number): Member {
  const { pointer, name, start } = container ?? { pointer: '', name: null, start: 0 };
  return { pointer, name, start, end };
}

function readInside(inside: Container, token: string, start: number, found: Member[]): void {
  if (token === ',') {
    inside.index += 1;
    inside.isKeyNext = !inside.isList;
  } else if (token === ':') inside.isKeyNext = false;
  else if (inside.isKeyNext) inside.key = JSON.parse(token) as string;
  else found.push({ ...placeIn(inside), start, end: start + token.length });
}

function placeIn(inside: Container | undefined): Pick<Member, 'pointer' | 'name'> {
  if (inside === undefined) return { pointer: '', name: null };
  const { pointer, isList, index, key } = inside;
  if (isList) return { pointer: `${pointer}/${String(index)}`, name: null };
  return { pointer: `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`, name: key };
}

/** The text with those members replaced for which `replace` answers a text; the rest stays as it is, to the byte. */
function rewriteMembers(text: string, replace: (member: Member, source: string) => string | undefined): string {
  let out = '';
  let from = 0;
  for (const member of membersOf(text)) {
    const { start, end } = member;
    const isReplacedAlready = start < from;
    const replaced = isReplacedAlready ? undefined : replace(member, text.slice(start, end));
    if (replaced === undefined) continue;
    out += text.slice(from, start) + replaced;
    from = end;
  }
  return out + text.slice(from);
}

/** Of anything but a string the text is hashed: what it means (1e999) may have no canonical form. */
function maskOfSource(source: string, salt: string | null): string {
  return maskOf(stringIn(source) ?? source, salt);
}

/** The string that a source is; undefined for any other value. */
function stringIn(source: string): string | undefined {
  return source.startsWith('"') ? (JSON.parse(source) as string) : undefined;
}

/**
 * A string that is the text of a JSON object or list, with every value under a secret-looking name masked, also where
 * such a text has another one in it; any other string as it is.
 */
export function maskText(text: string, salt: string | null): string {
  if (!isJsonText(text)) return text;
  return rewriteMembers(text, ({ name }, source) => {
    if (source === 'null') return undefined;
    if (name !== null && looksSecret(name)) return JSON.stringify(maskOfSource(source, salt));
    const inner = stringIn(source);
    const masked = inner === undefined ? inner : maskText(inner, salt);
    return masked === inner ? undefined : JSON.stringify(masked);
  });
}

/**
 * An edited string with each mask in it replaced by what it stands for at its place in the original. Undefined when one
 * stands for nothing there: a mask is never taken for a value.
 */
export function unmaskText(edited: string, original: JsonValue | undefined, salt: string): string | undefined {
  const before = typeof original === 'string' ? original : '';
  if (edited === before) return edited;
  if (edited === maskText(before, salt)) return before;
  const restored = isJsonText(edited) ? unmaskMembers(edited, before, salt) : edited;
  const isRestored = restored !== undefined && masksIn(restored).every((mask) => before.includes(mask));
  return isRestored ? restored : undefined;
}

function unmaskMembers(edited: string, before: string, salt: string): string | undefined {
  const sources = new Map(
    isJsonText(before) ? membersOf(before).map(({ pointer, start, end }) => [pointer, before.slice(start, end)]) : [],
  );
  const foreign: string[] = [];
  const restored = rewriteMembers(edited, ({ pointer }, source) => {
    const value = stringIn(source);
    const was = sources.get(pointer);
    if (value === undefined || source === was) return undefined;
    if (isMask(value)) {
      if (was !== undefined && maskOfSource(was, salt) === value) return was;
      foreign.push(pointer);
      return undefined;
    }
    const inner = unmaskText(value, was === undefined ? undefined : stringIn(was), salt);
    if (inner === undefined) foreign.push(pointer);
    return inner === undefined || inner === value ? undefined : JSON.stringify(inner);
  });
  return foreign.length === 0 ? restored : undefined;
}

/** Whether `shown` can be what a reader sees of the string `asked`: the same, but for what is masked in it. */
export function isShownText(asked: string, shown: string): boolean {
  return asked === shown || withoutHashes(maskText(asked, null)) === withoutHashes(shown);
}
