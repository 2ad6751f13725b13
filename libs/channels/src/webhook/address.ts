import { lookup as systemLookup } from 'node:dns';
import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Resolves a name to all its addresses. */
export type Resolve = (
  hostname: string,
  options: { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** A url leads into the private network, and this channel may not go there. */
export class AddressNotAllowedError extends Error {
  override readonly name = 'AddressNotAllowedError';
}

/** Clouds answer their machines' questions about themselves at this public address too. */
const metadataAddresses = new Set(['168.63.129.16']);

/**
 * Whether an address is one of the public internet. Attack: an endpoint that is the machine itself, a neighbour or the
 * cloud's metadata service, also as IPv4 inside IPv6. What is not known to be public is not.
 */
export function isPublicAddress(address: string): boolean {
  const bare = address.split('%')[0] ?? '';
  if (isIP(bare) === 0) return false;
  const parsed = ipaddr.process(bare);
  if (parsed.range() !== 'unicast' || metadataAddresses.has(parsed.toString())) return false;
  return parsed.kind() === 'ipv4' || parsed.match(ipaddr.parseCIDR('2000::/3'));
}

/** The address that a url names itself, in whatever notation; undefined for a name that is yet to be resolved. */
export function literalAddress(url: URL): string | undefined {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(host) === 0 ? undefined : host;
}

/**
 * Resolves a name for a connection, and gives it none but public addresses. Attack: a name that is public when it is
 * checked and private when it is used; here the address that was checked is the one connected to.
 */
export function publicLookup(resolve: Resolve = systemLookup): LookupFunction {
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
