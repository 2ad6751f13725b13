/** Any JSON value. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** A child of a list or an object. */
export interface Member {
  readonly name: string;
  /** Its JSON pointer (RFC 6901), unique in the document for any names. */
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
