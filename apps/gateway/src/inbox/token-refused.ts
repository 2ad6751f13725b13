/** A token of the provider is not accepted. The message says which check failed, in words that its sender may read. */
export class TokenRefusedError extends Error {
  override readonly name = 'TokenRefusedError';
}
