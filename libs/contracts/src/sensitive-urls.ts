import { isMask, maskOf } from './sensitive-mask.js';
import { looksSecret } from './sensitive-names.js';

interface Range {
  readonly start: number;
  readonly end: number;
}

const authorityParts = /\[masked(?: sha256:[0-9a-f]{16})?\]|[^/?#\s"<>\\[]+|\[/y;
const parameters = /[?&;#]([^=&;#?\s"<>]*)=(\[masked(?: sha256:[0-9a-f]{16})?\]|[^&;#\s"<>]*)/g;

/** Returns whether a string may contain a URL. */
export function mayHaveUrl(text: string): boolean {
  return text.includes('://');
}

/** The passwords and secret parameters of the URLs in a text, ascending. */
function secretsIn(text: string): readonly Range[] {
  const first = text.indexOf('://');
  if (first < 0) return [];
  return [...passwordsIn(text, first), ...secretParametersIn(text, first)].sort((a, b) => a.start - b.start);
}

/** `secret` of `https://user:secret@host`. Each authority ends before the next `://`, so the text is read once. */
function passwordsIn(text: string, first: number): Range[] {
  const found: Range[] = [];
  for (let at = first; at >= 0; at = text.indexOf('://', at)) {
    const start = at + '://'.length;
    at = authorityEnd(text, start);
    const authority = text.slice(start, at);
    const colon = authority.indexOf(':');
    const password = { start: start + colon + 1, end: start + authority.lastIndexOf('@') };
    if (colon >= 0 && password.end > password.start) found.push(password);
  }
  return found;
}

/** A mask in an authority has a blank in it, which would end the authority otherwise. */
function authorityEnd(text: string, start: number): number {
  let end = start;
  authorityParts.lastIndex = start;
  while (authorityParts.test(text)) end = authorityParts.lastIndex;
  return end;
}

/** `secret` of `https://host/?token=secret`. */
function secretParametersIn(text: string, first: number): Range[] {
  const found: Range[] = [];
  parameters.lastIndex = first;
  for (let match = parameters.exec(text); match !== null; match = parameters.exec(text)) {
    const [whole, name = '', value = ''] = match;
    const end = match.index + whole.length;
    if (value !== '' && looksSecret(name)) found.push({ start: end - value.length, end });
  }
  return found;
}

function replaceRanges(text: string, ranges: readonly Range[], replace: (secret: string) => string): string {
  let out = '';
  let from = 0;
  for (const { start, end } of ranges) {
    if (start < from) continue;
    out += text.slice(from, start) + replace(text.slice(start, end));
    from = end;
  }
  return out + text.slice(from);
}

/** A text with the passwords and secret parameters of its URLs masked; the rest stays as it is, to the byte. */
export function maskUrls(text: string, salt: string | null): string {
  if (!mayHaveUrl(text)) return text;
  return replaceRanges(text, secretsIn(text), (secret) => maskOf(secret, salt));
}

/** An edited text with the masks in its URLs replaced by the secrets that `before` has in its own. */
export function unmaskUrls(edited: string, before: string, salt: string): string {
  if (!mayHaveUrl(edited)) return edited;
  const secrets = secretsIn(before).map(({ start, end }) => before.slice(start, end));
  const byMask = new Map(secrets.map((secret) => [maskOf(secret, salt), secret]));
  return replaceRanges(edited, secretsIn(edited), (shown) => (isMask(shown) ? (byMask.get(shown) ?? shown) : shown));
}
