import { receiptType } from '@countersign/contracts';
import type { ReceiptClaims } from '@countersign/contracts';
import type { ClaimReceipt } from '@countersign/commands';
import type { ReceiptJwk, ReceiptKey, ReceiptKeys } from './receipt-keys.js';

/** The receipts of claims. */
export interface Receipts {
  /** The receipt of a claim: a compact JWS. The same claim has the same receipt. */
  readonly sign: (receipt: ClaimReceipt) => string;
  /** The claims of a receipt that this installation signed for the tenant; undefined for any other text. */
  readonly read: (tenant: string, receipt: string) => ReceiptClaims | undefined;
  /** The public keys of a tenant, that of new receipts first. */
  readonly jwksOf: (tenant: string) => readonly ReceiptJwk[];
}

/** The dependencies of receipts. */
export interface ReceiptPorts {
  /** The keys now: they may be replaced while the process runs. */
  readonly keys: () => ReceiptKeys;
  /** The public URL of the gateways, without a slash at its end. */
  readonly issuer: () => string;
  /** Whether receipts name the people who agreed. */
  readonly names: boolean;
}

/** Signs and reads receipts. */
export function createReceipts({ keys, issuer, names }: ReceiptPorts): Receipts {
  return {
    sign: ({ facts, approvers }) => {
      const [key] = keys().of(facts.tenant);
      const claims: ReceiptClaims = { iss: issuer(), ...facts, ...(names && { approvers }) };
      const text = `${headerOf(key)}.${encode(claims)}`;
      return `${text}.${key.sign(text)}`;
    },
    read: (tenant, receipt) => {
      const [header = '', payload = '', signature = '', ...rest] = receipt.split('.');
      // Only headers that this installation writes are accepted, byte for byte: nothing in them is interpreted.
      const key = keys()
        .of(tenant)
        .find((one) => headerOf(one) === header);
      if (key === undefined || rest.length > 0) return undefined;
      const bytes = Buffer.from(signature, 'base64url');
      // Attack: another text of the same bytes.
      if (bytes.toString('base64url') !== signature || !key.isSigned(`${header}.${payload}`, bytes)) return undefined;
      return JSON.parse(Buffer.from(payload, 'base64url').toString()) as ReceiptClaims;
    },
    jwksOf: (tenant) =>
      keys()
        .of(tenant)
        .map(({ jwk }) => jwk),
  };
}

const headers = new WeakMap<ReceiptKey, string>();

function headerOf(key: ReceiptKey): string {
  const known = headers.get(key);
  if (known !== undefined) return known;
  const header = encode({ alg: 'EdDSA', kid: key.jwk.kid, typ: receiptType });
  headers.set(key, header);
  return header;
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
