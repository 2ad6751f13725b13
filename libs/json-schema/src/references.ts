import type { JsonObject, JsonValue } from '@countersign/contracts';

/** The address of a schema that names none: references cannot lead out of it. */
export const unnamedBase = 'https://schema.invalid/';

/** A reference or an id as an absolute address, in two parts; undefined when it is no URI reference. */
export function resolveUri(
  uri: string,
  base: string,
): { readonly resource: string; readonly fragment: string } | undefined {
  if (!URL.canParse(uri, base)) return undefined;
  const url = new URL(uri, base);
  const fragment = url.hash.slice(1);
  url.hash = '';
  return { resource: url.href, fragment: percentDecoded(fragment) };
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The steps of a JSON pointer (RFC 6901). */
export function stepsOf(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** A JSON pointer with more steps. */
export function pointerTo(pointer: string, ...steps: readonly (string | number)[]): string {
  return steps.reduce<string>(
    (path, step) => `${path}/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`,
    pointer,
  );
}

/** The member of a JSON value at a step; undefined where there is none. */
export function memberAt(value: JsonValue | undefined, step: string): JsonValue | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
  return (value as JsonObject)[step];
}
