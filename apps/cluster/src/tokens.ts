import { createTokensFile } from '@countersign/gateway';

/** Makes a tokens file where there is none; answers whether it did. */
export function createTokens(file: string): boolean {
  return createTokensFile(file) !== undefined;
}
