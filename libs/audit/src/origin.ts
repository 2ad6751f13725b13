import { hash } from 'node:crypto';

/** The parts of a log's origin. */
export interface Origin {
  /** `COUNTERSIGN_LOG_ORIGIN`. */
  readonly base: string;
  readonly tenant: string;
  /** From 1. A log that contradicts what was signed goes on as the next epoch. */
  readonly epoch: number;
}

const tenantBytesMax = 200;

/** The origin of a tenant's log, which is its key name too: `<base>/<tenant>/<epoch>`. */
export function formatOrigin({ base, tenant, epoch }: Origin): string {
  return `${base}/${encodeTenant(tenant)}/${epoch}`;
}

/**
 * Reads an origin. The tenant is in its encoded form, because a long one cannot be told from its digest; compare it with
 * {@link encodeTenant}. Undefined for the origin of another kind of log.
 */
export function parseOrigin(origin: string): { base: string; encodedTenant: string; epoch: number } | undefined {
  const [, base, encodedTenant, digits] = /^(.+)\/([^/]+)\/([1-9][0-9]{0,14})$/.exec(origin) ?? [];
  if (base === undefined || encodedTenant === undefined || digits === undefined) return undefined;
  return { base, encodedTenant, epoch: Number(digits) };
}

/**
 * A tenant as a part of a key name, a stored format: all but `A-Z a-z 0-9 . _ -` is percent-encoded. Where that takes more
 * than 200 bytes, it is `~` and 32 hex digits of the SHA-256 of the tenant's UTF-8 bytes.
 */
export function encodeTenant(tenant: string): string {
  const encoded = Buffer.from(tenant)
    .toString('latin1')
    .replace(/[^A-Za-z0-9._-]/g, percentEncoded);
  return encoded.length <= tenantBytesMax ? encoded : `~${hash('sha256', tenant, 'hex').slice(0, 32)}`;
}

function percentEncoded(byte: string): string {
  return `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}
