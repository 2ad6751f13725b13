import type { z } from 'zod';

/** Returns whether a JSON value fits a schema. False may also mean that the check does not know: then the schema decides. */
export type SchemaCheck = (value: unknown) => boolean;

type Schema = z.core.$ZodType;
type Types = z.core.$ZodTypes['_zod']['def'];

/**
 * A check that makes nothing: a parse copies each object, which costs more than all else of reading an event. It MUST be
 * true only where the schema accepts the value. What it does not know is left to the schema.
 */
export function compileCheck(schema: Schema): SchemaCheck {
  const def = schema._zod.def as Types;
  const check = ofType(schema, def);
  const limits = (def.checks ?? []).map((one) => limitOf(one._zod.def as z.core.$ZodChecks['_zod']['def']));
  if (limits.length === 0) return check;
  const all = limits.filter((one) => one !== undefined);
  if (all.length < limits.length) return unknown(schema);
  return (value) => check(value) && all.every((one) => one(value));
}

function ofType(schema: Schema, def: Types): SchemaCheck {
  switch (def.type) {
    case 'string':
      return stringCheck(schema, def);
    case 'boolean':
      return (value) => typeof value === 'boolean';
    case 'number':
      return 'format' in def && def.format === 'safeint' ? Number.isSafeInteger : unknown(schema);
    case 'nullable': {
      const inner = compileCheck(def.innerType);
      return (value) => value === null || inner(value);
    }
    case 'literal':
      return among(def.values);
    case 'enum':
      return among(Object.values(def.entries));
    case 'array': {
      const element = compileCheck(def.element);
      return (value) => Array.isArray(value) && value.every(element);
    }
    case 'union': {
      const options = def.options.map(compileCheck);
      return (value) => options.some((fits) => fits(value));
    }
    case 'object':
      return objectCheck(def);
    case 'record':
      return recordCheck(def);
    case 'custom':
      return customCheck(schema, def);
    default:
      return unknown(schema);
  }
}

/** A plain string, or one of a format that is a pattern. */
function stringCheck(schema: Schema, def: Types): SchemaCheck {
  const { pattern, format } = def as { readonly pattern?: RegExp; readonly format?: string };
  if (format === undefined) return (value) => typeof value === 'string';
  if (format !== 'datetime' || pattern === undefined || pattern.global) return unknown(schema);
  return (value) => typeof value === 'string' && pattern.test(value);
}

function among(values: readonly unknown[]): SchemaCheck {
  const known = new Set(values);
  return (value) => known.has(value);
}

/** One pass over the members that there are: it costs half of looking each one up. */
function objectCheck({ shape, catchall }: z.core.$ZodObjectDef): SchemaCheck {
  const isStrict = catchall?._zod.def.type === 'never';
  const members = new Map(Object.entries(shape).map(([name, member]) => [name, memberCheck(member)]));
  const required = [...members.values()].filter(({ mayLack }) => !mayLack).length;
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    let found = 0;
    for (const name in value) {
      const member = members.get(name);
      if (member === undefined) {
        if (isStrict) return false;
      } else {
        if (!member.fits((value as Record<string, unknown>)[name])) return false;
        if (!member.mayLack) found += 1;
      }
    }
    return found === required;
  };
}

function recordCheck({ keyType, valueType }: z.core.$ZodRecordDef): SchemaCheck {
  const [key, member] = [compileCheck(keyType), compileCheck(valueType)];
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    for (const name in value) {
      if (name === '__proto__' || !key(name) || !member((value as Record<string, unknown>)[name])) return false;
    }
    return true;
  };
}

function customCheck(schema: Schema, def: Types): SchemaCheck {
  const { fn } = def as { readonly fn?: (value: unknown) => unknown };
  return fn === undefined ? unknown(schema) : (value) => fn(value) === true;
}

function memberCheck(member: Schema): { readonly fits: SchemaCheck; readonly mayLack: boolean } {
  const def = member._zod.def as Types;
  // A member that is there and has no value is left to the schema.
  return def.type === 'optional'
    ? { fits: compileCheck(def.innerType), mayLack: true }
    : { fits: compileCheck(member), mayLack: false };
}

function limitOf(def: z.core.$ZodChecks['_zod']['def']): SchemaCheck | undefined {
  switch (def.check) {
    case 'greater_than': {
      const { value: least, inclusive } = def as { readonly value: unknown; readonly inclusive: boolean };
      return inclusive && typeof least === 'number' ? (value) => (value as number) >= least : undefined;
    }
    case 'less_than': {
      const { value: most, inclusive } = def as { readonly value: unknown; readonly inclusive: boolean };
      return inclusive && typeof most === 'number' ? (value) => (value as number) <= most : undefined;
    }
    case 'min_length': {
      const { minimum } = def;
      return (value) => (value as string | readonly unknown[]).length >= minimum;
    }
    case 'max_length': {
      const { maximum } = def;
      return (value) => (value as string | readonly unknown[]).length <= maximum;
    }
    case 'string_format': {
      const { pattern, format } = def as { readonly pattern?: RegExp; readonly format: string };
      const isPattern = format === 'regex' && pattern !== undefined && !pattern.global;
      return isPattern ? (value) => pattern.test(value as string) : undefined;
    }
    default:
      return undefined;
  }
}

/** Everything else: the schema itself decides. */
function unknown(schema: Schema): SchemaCheck {
  return (value) => (schema as z.ZodType).safeParse(value).success;
}
