import type { JsonObject, JsonValue } from '@countersign/contracts';

/** A child of a list or an object. */
export interface Member {
  readonly name: string;
  /** Its JSON pointer (RFC 6901), which no other value of the document has, whatever the names are. */
  readonly pointer: string;
  readonly value: JsonValue;
}

/** The children of a list or object; none for any other value. */
export function membersOf(value: JsonValue, pointer: string): Member[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value as Readonly<Record<string, JsonValue>>).map(([name, child]) => ({
    name,
    pointer: `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
    value: child,
  }));
}

/** The string that a value has under a name, if any. */
export function stringAt(value: JsonValue, name: string): string | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  const found = (value as Readonly<Record<string, JsonValue>>)[name];
  return typeof found === 'string' ? found : undefined;
}

/** A JSON value on one line, cut where it gets long: a glance, never what one decides on. */
export function glanceOf(value: JsonValue | undefined, charactersMax = 160): string {
  const text = JSON.stringify(value ?? null);
  return text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text;
}

/** Arguments on one line as one reads them aloud: `path: /etc/hosts · recursive: true`. A glance, never what one decides on. */
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

/** Whether a JSON value is an object, not a list. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
