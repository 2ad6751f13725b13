import { z } from 'zod';
import { jsonObjectSchema } from './json.js';
import { textSchema } from './primitives.js';

/** The texts and data about a call that are for people alone: nothing judges them, and no digest covers them. */
export const presentedSchema = z.strictObject({
  title: z.string().max(256).exactOptional().meta({ description: 'A title of the call, in the words of the agent.' }),
  toolDescription: textSchema
    .exactOptional()
    .meta({ description: 'The tool as the agent describes it. `description` is about this call.' }),
  metadata: jsonObjectSchema.exactOptional().meta({
    description:
      'Data about the call, at most 8 KiB as JSON. Shown to people as the words of the agent; a member with the name of a secret is masked. Nothing judges them.',
    'x-json': 'object',
  }),
});

const { title, toolDescription, metadata } = presentedSchema.shape;

/** The same as a view has them: null where there is none. */
export const presentedViewSchema = z.strictObject({
  title: title
    .unwrap()
    .nullable()
    .meta(title.meta() ?? {}),
  toolDescription: toolDescription
    .unwrap()
    .nullable()
    .meta(toolDescription.meta() ?? {}),
  metadata: metadata
    .unwrap()
    .nullable()
    .meta(metadata.meta() ?? {}),
});

export type PresentedView = z.infer<typeof presentedViewSchema>;

/** The texts and data about a call that are for people alone. */
export type Presented = z.infer<typeof presentedSchema>;

/** Returns those members of a call or of an approval; absent ones stay absent. */
export function presentedOf({
  title,
  toolDescription,
  metadata,
}: { readonly [name in keyof Presented]?: Presented[name] | undefined }): Presented {
  return {
    ...(title !== undefined && { title }),
    ...(toolDescription !== undefined && { toolDescription }),
    ...(metadata !== undefined && { metadata }),
  };
}
