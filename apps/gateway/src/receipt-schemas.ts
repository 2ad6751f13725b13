import { assuranceSchema } from '@countersign/contracts';
import { z } from 'zod';

export const keySetSchema = z
  .strictObject({
    keys: z
      .array(
        z
          .strictObject({
            kty: z.literal('OKP').meta({ description: 'The kind of the key.' }),
            crv: z.literal('Ed25519').meta({ description: 'The curve.' }),
            x: z.string().meta({ description: 'The public key in base64url.' }),
            kid: z.string().meta({ description: 'The thumbprint of the key (RFC 7638).' }),
            use: z.literal('sig').meta({ description: 'It verifies signatures.' }),
            alg: z.literal('EdDSA').meta({ description: 'The algorithm of the signatures.' }),
          })
          .meta({ id: 'ReceiptKey', description: 'A public key that verifies receipts.' }),
      )
      .meta({ description: 'That of new receipts first. Empty: the server has no key for receipts.' }),
  })
  .meta({ id: 'ReceiptKeys', description: 'A JSON Web Key Set.' });

const receiptClaimsShape = {
  iss: z.string().meta({ description: 'The public URL of the server.' }),
  aud: z.string().meta({ description: 'The name of the tool.' }),
  sub: z.string().meta({ description: 'The call.' }),
  attempt: z.int(),
  runId: z.string(),
  agentId: z.string(),
  tenant: z.string(),
  actionDigest: z.string(),
  proposalDigest: z.string().nullable().meta({ description: 'What people agreed to. Null: no approval was needed.' }),
  argumentsHash: z.string().meta({
    description: '`sha256:` and the SHA-256 over the RFC 8785 form of `{ "nonce", "arguments" }`.',
  }),
  nonce: z.string().meta({ description: 'Makes the hash of equal arguments another one for each claim.' }),
  approvals: z
    .strictObject({
      count: z.int().meta({ description: 'How many people agreed.' }),
      assurance: assuranceSchema.nullable().meta({ description: 'The weakest of theirs. Null: none agreed.' }),
    })
    .meta({ id: 'ReceiptApprovals', description: 'The approval by which the call runs.' }),
  policyVersion: z.string().nullable(),
  seq: z
    .strictObject({
      n: z.int().meta({ description: 'The number of the call in the order of the requests, from 1.' }),
      of: z.int().meta({ description: 'How many calls the run had at the claim.' }),
    })
    .meta({ id: 'ReceiptSeq', description: 'The place of the call in its run.' })
    .nullable()
    .meta({ description: 'Null: the process that claimed does not know the run.' }),
  iat: z.int().meta({ description: 'When the call was claimed, in seconds since 1970.' }),
  exp: z.int().meta({ description: 'When the lease ends, in seconds since 1970.' }),
  jti: z.string().meta({ description: 'One for each claim: a renewed receipt has the same.' }),
};

export const introspectionSchema = z
  .strictObject({
    active: z.boolean().meta({ description: 'Whether the claim may still run its tool.' }),
    ...z.strictObject(receiptClaimsShape).partial().shape,
    approvers: z
      .array(z.string())
      .exactOptional()
      .meta({ description: 'Who agreed. Absent unless `COUNTERSIGN_RECEIPT_NAMES` is `true`.' }),
  })
  .meta({ id: 'Introspection', description: 'The claims of an active receipt. Of any other, `active` alone.' });
