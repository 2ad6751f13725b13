import { createHash } from 'node:crypto';

/**
 * Returns the name under which the ledger has the calls for a server: equal for the same command in the same folder, and
 * for the same address without its credentials. It is a hash, because a command may have secrets among its arguments.
 */
export function endpointOf(server: readonly string[] | URL, folder = process.cwd()): string {
  const facts = server instanceof URL ? [withoutCredentials(server)] : [...server, folder];
  const hash = createHash('sha256').update(JSON.stringify(facts)).digest('hex');
  return `mcp-server_${hash.slice(0, 16)}`;
}

function withoutCredentials(url: URL): string {
  const plain = new URL(url);
  plain.username = '';
  plain.password = '';
  plain.hash = '';
  return plain.href;
}
