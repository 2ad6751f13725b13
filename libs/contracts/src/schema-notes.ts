import { z } from 'zod';

/** A part of a tool's schema that is not checked. The rest of the schema holds. */
export const schemaNoteSchema = z
  .strictObject({
    pointer: z.string().meta({ description: 'JSON pointer (RFC 6901) of a place in `toolSchema`; empty: all of it.' }),
    why: z.string(),
  })
  .meta({ id: 'SchemaNote', description: "A part of a tool's schema that is not checked." });

export type SchemaNote = z.infer<typeof schemaNoteSchema>;
