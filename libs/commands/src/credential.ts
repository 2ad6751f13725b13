/**
 * Returns the id of a bearer token: `token:` and the first 16 hex digits of its SHA-256. The token cannot be computed from it.
 * @param tokenSha256 the SHA-256 of the token, as lower-case hex.
 */
export function credentialOfToken(tokenSha256: string): string {
  return `token:${tokenSha256.slice(0, 16)}`;
}

/** Returns whether the id of a credential is that of a bearer token. */
export function isOfToken(credential: string): boolean {
  return credential.startsWith('token:');
}
