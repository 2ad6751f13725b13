/** Whom passkeys belong to: a domain, and the one origin whose pages may use them. */
export interface RelyingParty {
  readonly rpId: string;
  readonly origin: string;
}

/**
 * The relying party of the address at which people reach the inbox; undefined where browsers make no passkey: without a
 * domain name, or without TLS on another host than `localhost`.
 */
export function relyingPartyOf(publicUrl: URL | undefined): RelyingParty | undefined {
  if (publicUrl === undefined) return undefined;
  const { protocol, hostname, origin } = publicUrl;
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost');
  const isNamed = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/.test(hostname) && !/^[0-9.]+$/.test(hostname);
  return isNamed && (protocol === 'https:' || isLocal) ? { rpId: hostname, origin } : undefined;
}
