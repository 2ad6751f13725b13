import type { RightsRecord } from './record.js';

/** The principal of a provider is its issuer and the subject. */
export function issuerOf(principal: string): string {
  return principal.slice(0, Math.max(0, principal.indexOf('#')));
}

/**
 * Returns whether a provider that the log of record names can have vouched for a person. Its record is the address that was
 * configured. The issuer is one of the same host, unless that address is the one of a discovery document.
 */
export function isOfProvider(principal: string, record: RightsRecord): boolean {
  const host = hostOf(issuerOf(principal));
  if (host === undefined) return false;
  return [...record.issuers()].some((known) => known.includes('/.well-known/') || hostOf(known) === host);
}

function hostOf(address: string): string | undefined {
  return URL.canParse(address) ? new URL(address).host : undefined;
}
