/** A number with an exponent, or of very many digits: it may be read as infinite, and written as null. */
const mayBeTooLarge = /(?:^|[:,[])[ \t\r\n]*-?[0-9][0-9.]*[eE]\+?[0-9]|[0-9]{309}/;

/** A JSON text that was read. */
export interface ReadText {
  /** Undefined for a text that is none, and for one with a number beyond all JSON numbers. */
  readonly value: unknown;
  /** It has a member twice, or a number of more digits than a JSON number keeps: programs differ in what they show. */
  readonly isAmbiguous: boolean;
}

/** Reads a stored JSON text once, for those who judge its value and those who judge how it is written. */
export function readText(text: string): ReadText {
  const value = parsed(text);
  // Most texts are written again as they are. Then each member is there once, and each number is one of JSON.
  if (value === undefined || JSON.stringify(value) === text) return { value, isAmbiguous: false };
  return hasTooLarge(text, value)
    ? { value: undefined, isAmbiguous: false }
    : { value, isAmbiguous: isAmbiguous(text) };
}

/**
 * Reads a stored JSON text. Undefined for a text that is none, and for one with a number beyond all JSON numbers. Attack: null
 * is replaced by such a number, whose RFC 8785 form would be the same.
 */
export function parseStored(text: string): unknown {
  const value = parsed(text);
  return hasTooLarge(text, value) ? undefined : value;
}

/** Reads a JSON text that people and programs read too. Undefined also for one that is ambiguous; the RFC 8785 form has one of it. */
export function parseShown(text: string): unknown {
  const { value, isAmbiguous: isTwofold } = readText(text);
  return isTwofold ? undefined : value;
}

/** The server takes JSON of 64 levels. Attack: an event so deep that no program can read the log to its end. */
const depthMax = 1000;
/** The largest output has fewer. Attack: a million members of a few bytes take half a minute and a gigabyte. */
const valuesMax = 512 * 1024;

function parsed(text: string): unknown {
  if (isTooLarge(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function hasTooLarge(text: string, value: unknown): boolean {
  return mayBeTooLarge.test(text) && !isFinite(value);
}

function isAmbiguous(text: string): boolean {
  return hasMemberTwice(text) || hasLostDigits(text);
}

/** Attack: a number of an account is replaced by another one that rounds to the same JSON number. */
function hasLostDigits(text: string): boolean {
  const tokens = text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][-+.0-9eE]*/g);
  return [...tokens].some(([token]) => !token.startsWith('"') && decimalOf(token) !== decimalOf(String(Number(token))));
}

/** A number as its digits and its exponent, so that 1, 1.0 and 10e-1 are one. */
function decimalOf(number: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([-+]?[0-9]+))?$/.exec(number) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const bare = digits.replace(/0+$/, '');
  const power = Number(exponent) - fraction.length + digits.length - bare.length;
  return bare === '' ? '0' : `${sign}${bare}e${String(power)}`;
}

/** Looks through a text that is JSON. */
function hasMemberTwice(text: string): boolean {
  const open: (Set<unknown> | undefined)[] = [];
  for (const [token, colon] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[[\]{}]/g)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(undefined);
    else if (token === '}' || token === ']') open.pop();
    else if (colon !== undefined) {
      const [names, name] = [open.at(-1), JSON.parse(token.slice(0, -colon.length)) as unknown];
      if (names?.has(name) === true) return true;
      names?.add(name);
    }
  }
  return false;
}

function isTooLarge(text: string): boolean {
  // So many brackets take room.
  if (text.length <= depthMax * 2) return false;
  let [depth, values] = [0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const one = text[at];
    if (one === '"') at = endOfString(text, at);
    else if (one === ',') values += 1;
    else depth += stepOf(one);
    if (depth > depthMax || values > valuesMax) return true;
  }
  return false;
}

/** How many levels deeper the text is after this character. */
function stepOf(one: string | undefined): number {
  if (one === '[' || one === '{') return 1;
  return one === ']' || one === '}' ? -1 : 0;
}

/** The place of the quote that ends the string that begins at `from`; the end of the text where there is none. */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text[at - 1 - escapes] === '\\') escapes += 1;
    if (escapes % 2 === 0) return at;
  }
  return text.length;
}

function isFinite(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value !== 'object' || value === null || Object.values(value).every(isFinite);
}
