import { createServer } from 'node:net';

/**
 * Below the ranges that Linux (32768-60999) and macOS (49152-65535) give to outgoing connections: while the server is
 * down, one of the clients that keep trying could get its very port as its own, talk to itself, and keep the port.
 */
const [lowest, highest] = [12_000, 29_999];

/** A port of this machine that nobody listens on, and that stays free between two starts on it. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest));
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => {
      resolve(false);
    });
    probe.listen(port, '127.0.0.1', () => {
      probe.close(() => {
        resolve(true);
      });
    });
  });
}
