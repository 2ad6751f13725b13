import type { JsonObject, JsonValue } from '@countersign/contracts';

/** Whether a JSON value is an object and not a list. */
export function glanceOf(value: JsonValue | undefined, charactersMax = 160): string {
  const text = JSON.stringify(value ?? null);
  return text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text;
}

/** The tooltip of a marked character of a foreign text. */
export function summaryOf(value: JsonObject, charactersMax = 160): string {
  let text = '';
  for (const [name, child] of Object.entries(value)) {
    if (text.length > charactersMax) break;
    const words =
      typeof child === 'string' ? child.slice(0, charactersMax).replaceAll(/\s*\n\s*/g, ' ⏎ ') : glanceOf(child);
    text += `${text === '' ? '' : ' · '}${name}: ${words}`;
  }
  return text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text;
}

/** A multi-line text inside a JSON value, shown as lines next to the JSON. Title and note are foreign texts. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
