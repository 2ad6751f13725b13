import { lookup as systemLookup } from 'node:dns';
import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Resolves a name to all its addresses. */
export type ResolveName = (
  hostname: string,
  options: { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** An address is in the private network, so no connection to it is allowed. */
export class AddressNotAllowedError extends Error {
  override readonly name = 'AddressNotAllowedError';
}

/** Azure's metadata service uses this public address. */
const metadataAddresses = new Set(['168.63.129.16']);

/**
 * Returns whether an address is public. Attack: a url leads to the machine itself, its neighbours or the cloud's
 * metadata service, possibly as IPv4 inside IPv6. An unknown range counts as private.
 */
export function isPublicAddress(address: string): boolean {
  // An IPv6 address may name an interface (`fe80::1%eth0`).
  const [bare = ''] = address.split('%');
  if (isIP(bare) === 0) return false;
  const parsed = ipaddr.process(bare);
  if (parsed.range() !== 'unicast' || metadataAddresses.has(parsed.toString())) return false;
  return parsed.kind() === 'ipv4' || parsed.match(ipaddr.parseCIDR('2000::/3'));
}

/**
 * Returns the address in a url, in decimal, octal or hex notation, when it is not public. Undefined for a public one,
 * and for a host name, whose addresses `publicLookup` checks when it is used.
 */
export function privateAddressOf(url: URL): string | undefined {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(host) === 0 || isPublicAddress(host) ? undefined : host;
}

/**
 * Resolves a host name for a connection and returns only public addresses. Attack: a name resolves to a public address
 * when it is checked and to a private one when it is used; here the checked address is the one that is used.
 */
export function publicLookup(resolve: ResolveName = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      const allowed = error === null ? addresses.filter(({ address }) => isPublicAddress(address)) : [];
      const [first] = allowed;
      if (error !== null) callback(error, '');
      else if (first === undefined) callback(new AddressNotAllowedError(`${hostname} is in a private network`), '');
      else if (options.all === true) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}
