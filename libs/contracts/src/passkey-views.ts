import { z } from 'zod';
import { assertionSchema, credentialIdSchema, nonceSchema } from './passkey-events.js';
import { shownTextSchema, timeSchema } from './primitives.js';

const base64url = z.string().regex(/^[A-Za-z0-9_-]+$/, 'must be base64url without padding');

/** `POST /v1/me/passkeys`. */
export const registerPasskeySchema = z
  .strictObject({
    name: shownTextSchema.max(64).optional().meta({ description: 'A name for the person. Default: "passkey".' }),
    registration: z
      .strictObject({
        nonce: nonceSchema.meta({ description: 'The `nonce` of the options.' }),
        credentialId: credentialIdSchema,
        clientDataJSON: base64url.max(4096).meta({ description: 'As the browser returned it.' }),
        attestationObject: base64url.max(16_384).meta({ description: 'As the browser returned it.' }),
        transports: z
          .array(z.string().max(32))
          .max(8)
          .optional()
          .meta({ description: 'As the browser returned them.' }),
      })
      .meta({ id: 'PasskeyRegistration', description: 'What the browser returned of a new passkey.' }),
  })
  .meta({ id: 'RegisterPasskey' });
export type RegisterPasskeyBody = z.infer<typeof registerPasskeySchema>;

/** `POST /v1/passkeys/{credentialId}/confirm`. */
export const confirmPasskeySchema = z
  .strictObject({
    assertion: assertionSchema.optional().meta({
      description:
        'Signed with a passkey of yours that counts already. Absent: your sign-in confirms it, which is enough while no person has a passkey that counts.',
    }),
  })
  .meta({ id: 'ConfirmPasskey' });
export type ConfirmPasskeyBody = z.infer<typeof confirmPasskeySchema>;

export const passkeyViewSchema = z
  .strictObject({
    credentialId: credentialIdSchema.meta({ description: 'The id of the passkey, base64url.' }),
    principal: z.string().meta({ description: 'The person that it belongs to.' }),
    name: z.string().meta({ description: 'The name that the person gave it.' }),
    status: z
      .enum(['waiting', 'active', 'removed'])
      .meta({ id: 'PasskeyStatus', description: 'Only an active passkey signs answers.' }),
    waitsFor: z.enum(['none', 'any-passkey', 'another-person']).meta({
      id: 'PasskeyConfirmation',
      description: 'Whose signature confirms it: nobody, its owner or another person, or another person.',
    }),
    confirmedBy: z.string().nullable().meta({ description: 'The person who confirmed it. Null: nobody did.' }),
    publicKey: z.string().meta({ description: 'The COSE key, base64url: what an auditor compares.' }),
    rpId: z.string().meta({ description: 'The domain that it belongs to.' }),
    origin: z.string().meta({ description: 'The origin whose pages may use it.' }),
    registeredAt: timeSchema,
  })
  .meta({ id: 'Passkey', description: 'A passkey with which a person signs answers.' });
export type PasskeyView = z.infer<typeof passkeyViewSchema>;

export const passkeyListSchema = z
  .strictObject({ passkeys: z.array(passkeyViewSchema) })
  .meta({ id: 'Passkeys', description: 'Passkeys, in the order of their registration.' });

const credentialSchema = z.strictObject({
  type: z.literal('public-key'),
  id: z.string(),
  transports: z.array(z.string()).exactOptional(),
});

/** WebAuthn's own form: `PublicKeyCredential.parseCreationOptionsFromJSON` of a browser reads it. */
const creationOptionsSchema = z
  .strictObject({
    challenge: z.string(),
    rp: z.strictObject({ id: z.string(), name: z.string() }),
    user: z.strictObject({ id: z.string(), name: z.string(), displayName: z.string() }),
    pubKeyCredParams: z.array(z.strictObject({ type: z.literal('public-key'), alg: z.int() })),
    timeout: z.int(),
    attestation: z.literal('none'),
    authenticatorSelection: z.strictObject({
      residentKey: z.literal('preferred'),
      userVerification: z.literal('required'),
    }),
    excludeCredentials: z.array(credentialSchema),
  })
  .meta({ id: 'PasskeyCreationOptions', description: 'The options of WebAuthn for a new passkey.' });

export const passkeyOptionsSchema = z
  .strictObject({
    nonce: nonceSchema.meta({ description: 'Send it back with the registration.' }),
    publicKey: creationOptionsSchema,
  })
  .meta({ id: 'PasskeyOptions', description: 'What a browser needs to make a passkey.' });
export type PasskeyOptions = z.infer<typeof passkeyOptionsSchema>;
