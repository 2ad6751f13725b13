import { existsSync, readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import type { StandaloneConfig } from './config.js';

/**
 * Rejects with the error of the system when another process has the port. Only for a data folder that is still to be made: a
 * start that fails there must not leave a folder with tokens behind. Where there is one, its lock says more.
 */
export async function refuseUsedPort({ dataFolder, host, port }: StandaloneConfig): Promise<void> {
  if (port === 0 || (existsSync(dataFolder) && readdirSync(dataFolder).length > 0)) return;
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, resolve);
  });
  await new Promise((resolve) => server.close(resolve));
}
