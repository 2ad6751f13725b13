import { externalIdSchema } from '@countersign/contracts';
import { z } from 'zod';
import { introspectionSchema, keySetSchema } from '../receipt-schemas.js';
import { defineRoute } from '../route.js';

const introspectSchema = z
  .strictObject({
    token: z.string().min(1).max(16_384).meta({ description: 'The receipt.' }),
    token_type_hint: z.string().max(256).optional().meta({ description: 'Is not looked at.' }),
  })
  .meta({ id: 'IntrospectReceipt', description: 'A question of RFC 7662.' });

const keySetQuery = z.object({
  tenant: externalIdSchema.optional().meta({ description: 'Whose receipts the keys verify. Default: `default`.' }),
});

/** The receipts of claims, for the servers of tools. */
export const receiptRoutes = {
  introspectReceipt: defineRoute({
    id: 'introspectReceipt',
    method: 'POST',
    path: '/v1/receipts/introspect',
    isRead: true,
    tag: 'Execution',
    summary: 'Ask whether the claim of a receipt may still run its tool (RFC 7662)',
    roles: ['resolver', 'tool'],
    body: introspectSchema,
    form: true,
    answers: { 200: introspectionSchema },
    codes: ['not-supported'],
  }),
  readReceiptKeys: defineRoute({
    id: 'readReceiptKeys',
    method: 'GET',
    path: '/.well-known/jwks.json',
    tag: 'Execution',
    summary: 'Read the public keys that verify the receipts of a tenant (RFC 7517)',
    roles: 'public',
    query: keySetQuery,
    answers: { 200: keySetSchema },
    codes: ['invalid-request', 'too-many-requests', 'misdirected-request'],
  }),
} as const;
