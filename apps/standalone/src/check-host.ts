import { isLoopback } from '@countersign/runtime';
import type { StandaloneConfig } from './config.js';

/** Listening on a public address without tokens is refused. */
export class OpenToTheWorldError extends Error {
  override readonly name = 'OpenToTheWorldError';
}

/** @throws OpenToTheWorldError where the host is reached from other machines, and no file names the tokens. */
export function checkHost({ host, tokensFile }: StandaloneConfig): void {
  if (tokensFile !== null || isLoopback(host)) return;
  throw new OpenToTheWorldError(
    `COUNTERSIGN_HOST is ${host}: name the tokens that may come in with COUNTERSIGN_TOKENS_FILE, or bind to 127.0.0.1`,
  );
}
