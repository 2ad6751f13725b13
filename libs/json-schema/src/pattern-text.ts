import { isRegExp } from './regexp-syntax.js';

// Translates ECMAScript patterns to RE2. Where the two disagree, the pattern is rewritten or left out, so that both
// match the same texts.

const spaces = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
] as const;

const point = (code: number): string => `\\u{${code.toString(16)}}`;
const rangeText = ([from, to]: readonly [number, number]): string =>
  from === to ? point(from) : `${point(from)}-${point(to)}`;

const spaceRanges = spaces.map(rangeText).join('');
const otherRanges = spaces
  .map(([, to], index) => rangeText([to + 1, (spaces[index + 1]?.[0] ?? 0x110000) - 1]))
  .concat(rangeText([0, 8]))
  .join('');

const categories: Readonly<Record<string, string>> = {
  ...{ Letter: 'L', Cased_Letter: 'LC', Lowercase_Letter: 'Ll', Uppercase_Letter: 'Lu', Titlecase_Letter: 'Lt' },
  ...{ Modifier_Letter: 'Lm', Other_Letter: 'Lo', Mark: 'M', Nonspacing_Mark: 'Mn', Spacing_Mark: 'Mc' },
  ...{ Enclosing_Mark: 'Me', Number: 'N', Decimal_Number: 'Nd', digit: 'Nd', Letter_Number: 'Nl', Other_Number: 'No' },
  ...{ Punctuation: 'P', punct: 'P', Symbol: 'S', Math_Symbol: 'Sm', Currency_Symbol: 'Sc', Modifier_Symbol: 'Sk' },
  ...{ Other_Symbol: 'So', Separator: 'Z', Space_Separator: 'Zs', Control: 'Cc', Format: 'Cf' },
  ...{ Dash_Punctuation: 'Pd', Open_Punctuation: 'Ps', Close_Punctuation: 'Pe', Connector_Punctuation: 'Pc' },
};

const property = /^(?:(Script|sc|General_Category|gc)=)?(\w+)$/;

/** A flag of other languages by which a dot is a line end, too. */
const dotAll = /\(\?[a-z]*s[a-z]*[:)-]/;

/** A repetition as only other languages write it: without a minimum, or with spaces. In ECMAScript it is a text, or no pattern. */
const foreignCount = /^(?!\d+(?:,\d*)?\}|\s*\})[\d\s]*(?:,[\d\s]*)?\}/;

/**
 * A letter that has a meaning behind a backslash in other languages alone, such as `\h`, `\R` and `\Z`. `\k` is a reference to a
 * named group, which RE2 does not have.
 */
const foreignEscape = /^\\[aeg-moqyzACE-OQRT-VX-Z]$/;

/** Half of a character. An emoji as two halves matches in engines that count halves alone. */
const surrogate = /^\\u[dD][89a-fA-F]/;

/** Returns a pattern in RE2's syntax; undefined when RE2 cannot express it. */
export function toRe2Text(pattern: string): string | undefined {
  return dotAll.test(pattern) ? undefined : translated(pattern);
}

/** The begin of a class in a class, or an operation on two classes. */
const setNotation = /^(?:\[|--[^\]]|&&[^&\]])/;

/**
 * Returns whether a pattern calculates with classes, as the flag `v` of JavaScript, Java and .NET do: `[\p{L}--[a-z]]`,
 * `[\w&&\d]`, `[[a-z]_]`. JSON Schema has the flag `u`, which refuses such a pattern or reads it as another one.
 */
export function hasSetNotation(pattern: string): boolean {
  let inClass = false;
  for (let at = 0; at < pattern.length;) {
    if (inClass && setNotation.test(pattern.slice(at, at + 3))) return !isRegExp(pattern) || isRegExp(pattern, 'v');
    const token: string = tokenAt(pattern, at);
    at += token.length;
    inClass = token.startsWith('[') || (inClass && token !== ']');
  }
  return false;
}

function translated(pattern: string): string | undefined {
  let out = '';
  let inClass = false;
  for (let at = 0; at < pattern.length;) {
    const token = tokenAt(pattern, at);
    at += token.length;
    const written: string | undefined = token.startsWith('\\') ? escaped(token, inClass) : plain(token, inClass);
    if (written === undefined || isForeign(token, pattern.slice(at), inClass)) return undefined;
    out += written;
    if (token === '[' || token === '[^') inClass = true;
    else if (token === ']') inClass = false;
  }
  return out;
}

/** Whether other languages read the token as something else: a class of POSIX, an intersection or a repetition. */
function isForeign(token: string, rest: string, inClass: boolean): boolean {
  if (!inClass) return token === '{' && foreignCount.test(rest);
  return (token === '[' && rest.startsWith(':')) || (token === '&' && rest.startsWith('&['));
}

const tokens =
  /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\[pP]\{[^}]*\}|\\u\{[^}]*\}|\\[^]|\[\^?|[^]/uy;

export function tokenAt(pattern: string, at: number): string {
  tokens.lastIndex = at;
  return tokens.exec(pattern)?.[0] ?? pattern.charAt(at);
}

function plain(token: string, inClass: boolean): string | undefined {
  if (token === '.' && !inClass) return '[^\\n\\r\\u{2028}\\u{2029}]';
  // A bracket inside a class is itself; RE2 would read `[:` as the begin of a POSIX class.
  if (inClass && token.startsWith('[')) return token === '[' ? '\\[' : '\\[\\^';
  return token;
}

function escaped(token: string, inClass: boolean): string | undefined {
  if (surrogate.test(token)) return token.length === 12 ? surrogatePair(token) : undefined;
  switch (token[1]) {
    case 's':
      return inClass ? spaceRanges : `[${spaceRanges}]`;
    case 'S':
      return inClass ? otherRanges : `[${otherRanges}]`;
    case 'p':
    case 'P':
      return unicodeProperty(token);
    case 'b':
      return inClass ? '\\x08' : token;
    default:
      return foreignEscape.test(token) ? undefined : token;
  }
}

function surrogatePair(token: string): string {
  const high = Number.parseInt(token.slice(2, 6), 16);
  const low = Number.parseInt(token.slice(8, 12), 16);
  return point((high - 0xd800) * 0x400 + (low - 0xdc00) + 0x10000);
}

function unicodeProperty(token: string): string | undefined {
  const [, kind, name = ''] = property.exec(token.slice(3, -1)) ?? [];
  if (name === '') return undefined;
  const isScript = kind === 'Script' || kind === 'sc';
  return `\\${token.charAt(1)}{${isScript ? name : (categories[name] ?? name)}}`;
}
