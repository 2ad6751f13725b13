import { z } from 'zod';

/** Any JSON value. It is only passed on, never merged into another object. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** A JSON object, such as the arguments of a tool call. */
export type JsonObject = { readonly [key: string]: JsonValue };

const wholeNumbers =
  'Whole numbers beyond ±9007199254740991 are refused unless they have an exponent: a program on the way may have rounded them.';

/**
 * A JSON value whose inside is not looked at: depth, duplicate keys and unsafe integers are refused by the edge,
 * before zod (a recursive zod schema overflows the stack at depth 2,000).
 */
export const jsonValueSchema = z
  .custom<JsonValue>((value) => value !== undefined)
  .meta({ description: `Any JSON value. ${wholeNumbers}`, 'x-json': 'value' });

/** A JSON object whose inside is not looked at. */
export const jsonObjectSchema = z
  .custom<JsonObject>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), {
    error: 'must be a JSON object',
  })
  .meta({ description: `A JSON object. ${wholeNumbers}`, 'x-json': 'object' });
