import { z } from 'zod';
import type { JsonObject } from './json.js';
import { digestSchema } from './primitives.js';

/**
 * How a person proved who they are, recorded with what they decide. Older versions recorded none of it. Only auditors and
 * admins read it.
 */
export const proofShape = {
  /** The id of the credential, such as `token:6ca13d52ca70c883`. Never the credential itself. */
  credential: z.exactOptional(z.string()),
  /** The SHA-256 of the id of the session; absent: a request with a token of its own. */
  session: z.exactOptional(digestSchema),
  /** The client as it names itself in `Countersign-Client`; absent: it does not. */
  client: z.exactOptional(z.string()),
  /** The IP address of the connection; absent: the operator does not record addresses. */
  address: z.exactOptional(z.string()),
  /** The roles that the person had. */
  roles: z.exactOptional(z.array(z.string())),
  /** The front end that vouched for the person, whose credential it is; absent: the person proved themselves. */
  vouchedBy: z.exactOptional(z.string()),
  /** One for all answers of one click; absent: the click was about one approval. */
  bulkId: z.exactOptional(z.string()),
} as const;

/** The proof of one decision. */
export type Proof = z.infer<z.ZodObject<typeof proofShape>>;

/** The passkey and its owner's device are told to no others either. */
const proofMembers: ReadonlySet<string> = new Set([...Object.keys(proofShape), 'signature', 'assertion']);

/** Event data as those read it who may not know how the person proved who they are. */
export function withoutProof(data: JsonObject): JsonObject {
  if (!Object.hasOwn(data, 'credential') && !Object.hasOwn(data, 'session')) return data;
  return Object.fromEntries(Object.entries(data).filter(([name]) => !proofMembers.has(name)));
}
