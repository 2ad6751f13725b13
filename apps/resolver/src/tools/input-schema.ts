import { createArgumentSchemas } from '@countersign/commands';
import type { JsonObject } from '@countersign/contracts';
import { z } from 'zod';
import type { Tool } from './tool.js';

/** A tool's schema of its arguments, in the two forms that are needed. */
export type InputSchema = Pick<Tool, 'inputSchema' | 'validate'>;

/** A schema that cannot be used. */
export class InputSchemaError extends Error {
  override readonly name = 'InputSchemaError';
}

/** The common interface of zod and other implementations of the Standard Schema specification. */
interface StandardSchema {
  readonly '~standard': {
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult | Promise<StandardResult>;
  };
}

interface StandardResult {
  readonly issues?: readonly {
    readonly message: string;
    readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[];
  }[];
}

const schemas = createArgumentSchemas();

/**
 * A tool's schema, given as JSON Schema or as a zod schema.
 * @throws InputSchemaError when it is neither.
 */
export function readInputSchema(given: unknown): InputSchema {
  if (given === undefined || given === null) return { inputSchema: null, validate: () => [] };
  if (isStandardSchema(given)) return fromStandardSchema(given);
  if (typeof given !== 'object' || Array.isArray(given)) {
    throw new InputSchemaError('must be a JSON Schema or a zod schema');
  }
  return fromJsonSchema(given as JsonObject);
}

function fromJsonSchema(inputSchema: JsonObject): InputSchema {
  const usable = schemas.check(inputSchema, {});
  if (usable.status === 'refused' && usable.about === 'toolSchema') throw new InputSchemaError(usable.message);
  // The operator can correct it: half a check would look like a check.
  const [note] = usable.status === 'valid' ? usable.notes : [];
  if (note !== undefined)
    throw new InputSchemaError(`${note.pointer === '' ? 'the schema' : note.pointer} ${note.why}`);
  const validate: Tool['validate'] = (args) => {
    const result = schemas.check(inputSchema, args);
    if (result.status === 'invalid') return result.errors.map(({ path, message }) => `${path} ${message}`.trim());
    return result.status === 'valid' ? [] : [result.message];
  };
  return { inputSchema, validate };
}

function isStandardSchema(given: unknown): given is StandardSchema {
  return (typeof given === 'object' || typeof given === 'function') && given !== null && '~standard' in given;
}

/** It only judges: defaults and transformations are not applied, since what was approved is what runs. */
function fromStandardSchema(schema: StandardSchema): InputSchema {
  return {
    inputSchema: toJsonSchema(schema),
    validate: async (args) => {
      const { issues = [] } = await schema['~standard'].validate(structuredClone(args));
      return issues.map(({ path = [], message }) => {
        const keys = path.map((part) => String(typeof part === 'object' ? part.key : part));
        return `${keys.join('.')} ${message}`.trim();
      });
    },
  };
}

/** Null for a schema that JSON Schema has no words for; then it judges here alone, not when an approver edits. */
function toJsonSchema(schema: StandardSchema): JsonObject | null {
  try {
    const { $schema: _, ...rest } = z.toJSONSchema(schema as unknown as z.ZodType, { io: 'input' });
    return JSON.parse(JSON.stringify(rest)) as JsonObject;
  } catch {
    return null;
  }
}
