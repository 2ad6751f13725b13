import { isMask, maskOf, masksIn, withoutHashes } from './sensitive-mask.js';
import type { JsonValue } from './json.js';
import { isPairValue, isSecretNamer } from './sensitive-members.js';
import { looksSecret } from './sensitive-names.js';
import { maskUrls, mayHaveUrl, unmaskUrls } from './sensitive-urls.js';

/** A value inside a JSON text. No path is kept: the paths of a deep text are longer than the text by far. */
interface Member {
  readonly parent: Container | undefined;
  /** Its name, or its index in a list; null for the whole. */
  readonly step: string | number | null;
  readonly start: number;
  end: number;
}

interface Container extends Member {
  readonly isList: boolean;
  readonly members: Map<Member['step'], Member>;
  key: string;
  index: number;
  isKeyNext: boolean;
}

const beginning = /^\s*[[{]/;
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** Returns whether a string may contain something to mask: it begins like JSON, or contains a URL. */
export function mayHideText(text: string): boolean {
  return beginning.test(text) || mayHaveUrl(text);
}

function isJsonText(text: string): boolean {
  if (!beginning.test(text)) return false;
  try {
    // Others read past a byte order mark, which `\s` is and JSON's white space is not.
    JSON.parse(text.replace(/^\uFEFF/, ''));
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
  let inside: Container | undefined;
  for (const { 0: token, index: start } of text.matchAll(tokens)) {
    if (token === '{' || token === '[') {
      inside = { ...placeIn(inside, start), ...empty(token === '[') };
      found.push(inside);
    } else if (inside === undefined) continue;
    else if (token === '}' || token === ']') {
      inside.end = start + 1;
      inside.parent?.members.set(inside.step, inside);
      inside = inside.parent;
    } else readInside(inside, token, start, found);
  }
  return found;
}

function empty(isList: boolean): Omit<Container, keyof Member> {
  return { isList, members: new Map(), key: '', index: 0, isKeyNext: !isList };
}

function readInside(inside: Container, token: string, start: number, found: Member[]): void {
  if (token === ',') {
    inside.index += 1;
    inside.isKeyNext = !inside.isList;
  } else if (token === ':') inside.isKeyNext = false;
  else if (inside.isKeyNext) inside.key = JSON.parse(token) as string;
  else {
    const member = { ...placeIn(inside, start), end: start + token.length };
    inside.members.set(member.step, member);
    found.push(member);
  }
}

function placeIn(parent: Container | undefined, start: number): Member {
  return { parent, step: parent === undefined ? null : stepIn(parent), start, end: start };
}

function stepIn(parent: Container): string | number {
  return parent.isList ? parent.index : parent.key;
}

/**
 * Returns the text with those members replaced for which `replace` returns a text; the rest is unchanged to the byte.
 */
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

/** For other values than strings the text is hashed: its value (1e999) may have no canonical form. */
function maskOfSource(source: string, salt: string | null): string {
  return maskOf(stringIn(source) ?? source, salt);
}

/** The string that a source is; undefined for any other value. */
function stringIn(source: string): string | undefined {
  return source.startsWith('"') ? (JSON.parse(source) as string) : undefined;
}

/**
 * Masks a string. In the text of a JSON object or list every value under a secret-looking name is masked, also in
 * nested texts; in any other string the secrets of its URLs are.
 */
export function maskText(text: string, salt: string | null): string {
  if (!isJsonText(text)) return maskUrls(text, salt);
  const isPair = secretPairsIn(text);
  return rewriteMembers(text, (member, source) => {
    if (source === 'null') return undefined;
    if (isSecretMember(member, isPair)) return JSON.stringify(maskOfSource(source, salt));
    const inner = stringIn(source);
    const masked = inner === undefined ? inner : maskText(inner, salt);
    return masked === inner ? undefined : JSON.stringify(masked);
  });
}

function isSecretMember({ parent, step }: Member, isPair: (container: Container) => boolean): boolean {
  if (parent === undefined || step === null) return false;
  if (typeof step === 'string' && looksSecret(step)) return true;
  return (typeof step === 'number' ? step === 1 : isPairValue(step)) && isPair(parent);
}

/** Calls back for the containers of a text with whether one member names the other as secret. Each is read once. */
function secretPairsIn(text: string): (container: Container) => boolean {
  const known = new Map<Container, boolean>();
  const look = ({ isList, members }: Container): boolean => {
    if (isList && members.size !== 2) return false;
    return [...members].some(([step, { start, end }]) => {
      if (isList) return step === 0 && looksSecret(stringIn(text.slice(start, end)) ?? '');
      return typeof step === 'string' && isSecretNamer(step, stringIn(text.slice(start, end)));
    });
  };
  return (container) => {
    const isPair = known.get(container) ?? look(container);
    known.set(container, isPair);
    return isPair;
  };
}

/**
 * Restores the masks of an edited string from the same places of the original. Undefined when a mask has no original
 * there: a mask is never taken for a value.
 */
export function unmaskText(edited: string, original: JsonValue | undefined, salt: string): string | undefined {
  const before = typeof original === 'string' ? original : '';
  if (edited === before) return edited;
  if (edited === maskText(before, salt)) return before;
  const restored = isJsonText(edited) ? unmaskMembers(edited, before, salt) : unmaskUrls(edited, before, salt);
  const masksBefore = new Set(masksIn(before));
  const isRestored = restored !== undefined && masksIn(restored).every((mask) => masksBefore.has(mask));
  return isRestored ? restored : undefined;
}

function unmaskMembers(edited: string, before: string, salt: string): string | undefined {
  const counterpartOf = counterpartsIn(before);
  const foreign: Member[] = [];
  const restored = rewriteMembers(edited, (member, source) => {
    const counterpart = counterpartOf(member);
    const was = counterpart && before.slice(counterpart.start, counterpart.end);
    if (source === was) return undefined;
    const value = restoredSource(source, was, salt);
    if (value === null) foreign.push(member);
    return value ?? undefined;
  });
  return foreign.length === 0 ? restored : undefined;
}

/** The replacement of one value of an edited text. Undefined keeps it; null: it has a mask without an original. */
function restoredSource(source: string, was: string | undefined, salt: string): string | null | undefined {
  const value = stringIn(source);
  if (value === undefined) return undefined;
  if (isMask(value)) return was !== undefined && maskOfSource(was, salt) === value ? was : null;
  const inner = unmaskText(value, was === undefined ? undefined : stringIn(was), salt);
  if (inner === undefined) return null;
  return inner === value ? undefined : JSON.stringify(inner);
}

/** The value at the same place of a text, for one member after the other, each after its parent. */
function counterpartsIn(text: string): (member: Member) => Member | undefined {
  const whole = isJsonText(text) ? membersOf(text)[0] : undefined;
  const counterparts = new Map<Member, Member | undefined>();
  return (member) => {
    const parent = member.parent && counterparts.get(member.parent);
    const found = member.parent === undefined ? whole : parent && membersIn(parent)?.get(member.step);
    counterparts.set(member, found);
    return found;
  };
}

function membersIn(member: Member): Container['members'] | undefined {
  return 'members' in member ? (member as Container).members : undefined;
}

/** Returns whether `shown` can be the masked form of the string `asked`: equal except for the masks. */
export function isShownText(asked: string, shown: string): boolean {
  return asked === shown || withoutHashes(maskText(asked, null)) === withoutHashes(shown);
}
