import type { JsonObject, JsonValue } from '@countersign/contracts';

/** The address of a schema that names none: references cannot lead out of it. */
export const unnamedBase = 'https://schema.invalid/';

/** A reference or an id as an absolute address, in two parts; undefined when it is no URI reference. */
export function resolveUri(
  uri: string,
  base: string,
): { readonly resource: string; readonly fragment: string } | undefined {
  const [address = '', ...rest] = uri.split('#');
  const fragment = percentDecoded(rest.join('#'));
  // Also where the base is no address that others could be relative to, such as `urn:uuid:…`.
  if (address === '') return { resource: base, fragment };
  return URL.canParse(address, base) ? { resource: new URL(address, base).href, fragment } : undefined;
}

/** The names of definitions are often not encoded: a percent sign may be itself. */
function percentDecoded(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes;
    }
  });
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
