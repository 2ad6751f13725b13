import { z } from 'zod';

const tenant = z.string().max(256);
const note = z.string();
const index = z.int().min(0);
const why = z.string().max(2000);

const signing = z.discriminatedUnion('status', [
  z.object({ status: z.literal('signed'), note }),
  z.object({ status: z.literal('empty') }),
  z.object({ status: z.literal('rewound'), why }),
  z.object({ status: z.literal('unavailable'), why }),
]);

/** The requests that a notary answers: each is `POST /v1/<name>`. */
export const requests = {
  newest: {
    body: z.object({ tenant, isPending: z.boolean().optional() }),
    answer: z.object({ note: note.nullable() }),
  },
  vkeys: { body: z.object({ tenant }), answer: z.object({ vkeys: z.array(z.string()) }) },
  keyChanges: { body: z.object({ tenant }), answer: z.object({ changes: z.array(z.string()) }) },
  timestamps: {
    body: z.object({
      tenant,
      epoch: index.optional(),
      size: index.optional(),
      after: z.object({ epoch: index, size: index }).optional(),
      order: z.enum(['oldest', 'newest']).optional(),
      limit: z.int().min(1).max(100),
    }),
    answer: z.object({
      stamps: z.array(z.object({ epoch: index, size: index, text: note, time: z.string(), reply: z.base64() })),
    }),
  },
  sign: { body: z.object({ tenant }), answer: signing },
  rewound: {
    body: z.object({ tenant }),
    answer: z.object({ rewound: z.object({ why, checkpoint: note.nullable() }).nullable() }),
  },
  readOnly: { body: z.object({}), answer: z.object({ why: why.nullable() }) },
  goOn: { body: z.object({ tenant }), answer: signing },
  tenants: { body: z.object({}), answer: z.object({ tenants: z.array(z.string()) }) },
  hashTile: {
    body: z.object({ tenant, level: z.int().min(0).max(63), index }),
    answer: z.object({ hashes: z.base64() }),
  },
  entryTile: { body: z.object({ tenant, index }), answer: z.object({ entries: z.array(z.string()) }) },
  prove: {
    body: z.object({ tenant, stream: z.string().max(1024), checkpoint: z.string().max(16_384) }),
    answer: z.object({
      events: z.array(
        z.object({
          ...{ index, entry: z.string(), proof: z.string() },
          body: z.object({ data: z.unknown(), metadata: z.unknown() }),
        }),
      ),
    }),
  },
} as const;

export type RequestName = keyof typeof requests;
export type Body<Name extends RequestName> = z.output<(typeof requests)[Name]['body']>;
export type Answer<Name extends RequestName> = z.output<(typeof requests)[Name]['answer']>;

/** The envelope of an answer. `isActive`: the notary signs, and knows the newest checkpoint. */
export const envelope = z.object({ isActive: z.boolean(), answer: z.unknown() });
