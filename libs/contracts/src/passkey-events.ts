import { z } from 'zod';
import { proofShape } from './credentials.js';
import { digestSchema, timeSchema } from './primitives.js';

const base64url = (lengthMax: number) =>
  z
    .string()
    .regex(/^[A-Za-z0-9_-]+$/, 'must be base64url without padding')
    .max(lengthMax);

/** The id of a passkey: its WebAuthn credential id, base64url. */
export const credentialIdSchema = base64url(1400);
/** 16 random bytes or more, base64url, of the person's browser. */
export const nonceSchema = base64url(128).min(22);

const assertionShape = {
  credentialId: credentialIdSchema,
  nonce: nonceSchema,
  authenticatorData: base64url(1400),
  clientDataJSON: base64url(4096),
  signature: base64url(1400),
} as const;

/** What a passkey signed, as the browser returned it. */
export const assertionSchema = z.strictObject(assertionShape).meta({
  id: 'PasskeyAssertion',
  description: 'What a passkey signed, as the browser returned it.',
});
export type PasskeyAssertion = z.infer<typeof assertionSchema>;

/**
 * A person's signature of an answer. The challenge that the passkey signed is the SHA-256 of the RFC 8785 form of
 * `{ proposalDigest, displayDigest, decision, instruction, nonce }`.
 */
export const answerSignatureSchema = z
  .strictObject({
    ...assertionShape,
    displayDigest: digestSchema.meta({ description: 'The digest of the card that was shown.' }),
  })
  .meta({ id: 'AnswerSignature', description: "A person's signature of an answer, made with a passkey." });
export type AnswerSignature = z.infer<typeof answerSignatureSchema>;

/** A person has registered a passkey. The public key is here, so that a signature can be verified from the log alone. */
export const passkeyRegisteredSchema = z.strictObject({
  credentialId: credentialIdSchema,
  principal: z.string(),
  /** The COSE key, base64url. */
  publicKey: base64url(2048),
  /** ES256 is -7, EdDSA is -8, RS256 is -257. */
  algorithm: z.int(),
  signCount: z.int().min(0),
  /** The domain and the origin that the passkey belongs to. */
  rpId: z.string(),
  origin: z.string(),
  transports: z.array(z.string()),
  /** The name that the person gave it. */
  name: z.string(),
  /** `none`: the first passkey of its person counts at once. The others wait for a confirmation, by whom it says. */
  waitsFor: z.enum(['none', 'any-passkey', 'another-person']),
  registeredAt: timeSchema,
  ...proofShape,
});

/** A passkey counts from here on. */
export const passkeyConfirmedSchema = z.strictObject({
  credentialId: credentialIdSchema,
  confirmedBy: z.string(),
  /** Made with a passkey of the confirming person. Absent: no person had one that counted. */
  assertion: z.exactOptional(assertionSchema),
  confirmedAt: timeSchema,
  ...proofShape,
});

/** A passkey counts for no further answer, and cannot be registered again. */
export const passkeyRemovedSchema = z.strictObject({
  credentialId: credentialIdSchema,
  removedBy: z.string(),
  removedAt: timeSchema,
  ...proofShape,
});

/** The stored format of every event of the stream `passkeys-<tenant>`, by type. */
export const passkeyEventSchemas = {
  PasskeyRegistered: passkeyRegisteredSchema,
  PasskeyConfirmed: passkeyConfirmedSchema,
  PasskeyRemoved: passkeyRemovedSchema,
} as const;

type PasskeyEventType = keyof typeof passkeyEventSchemas;

/** The data of one event about a passkey. */
export type PasskeyEventData<T extends PasskeyEventType> = z.infer<(typeof passkeyEventSchemas)[T]>;

/** An event about the passkeys of a tenant's people. */
export type PasskeyEvent = {
  [T in PasskeyEventType]: { readonly type: T; readonly data: PasskeyEventData<T> };
}[PasskeyEventType];

/** The stream of the passkeys of a tenant's people. */
export function passkeysStream(tenant: string): string {
  return `passkeys-${tenant}`;
}
