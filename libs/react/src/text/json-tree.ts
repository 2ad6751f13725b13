import type { JsonObject, JsonValue } from '@countersign/contracts';

/** A JSON value on one line, cut when it is long. A summary, never the basis of a decision. */
export function glanceOf(value: JsonValue | undefined, charactersMax = 160): string {
  const text = JSON.stringify(value ?? null);
  return text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text;
}

/** Arguments on one line: `path: /etc/hosts · recursive: true`. A summary, never the basis of a decision. */
export function summaryOf(value: JsonObject, charactersMax = 160): string {
  let text = '';
  for (const [name, child] of Object.entries(value)) {
    if (text.length > charactersMax) break;
    const words = typeof child === 'string' ? textWords(child.slice(0, charactersMax)) : glanceOf(child);
    text += `${text === '' ? '' : ' · '}${textWords(name)}: ${words}`;
  }
  return text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text;
}

/** A text that could be read as another value, or as a part of the summary. */
const otherwise = /^\s*(?:["[{]|$|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\s*$|(?:true|false|null)\s*$)| · |: /;

function textWords(text: string): string {
  const line = text.replaceAll(/\s*\n\s*/g, ' ⏎ ');
  return otherwise.test(line) ? JSON.stringify(line) : line;
}

/** Returns whether a JSON value is an object and not a list. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
