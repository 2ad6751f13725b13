import { createServer } from 'node:net';

/**
 * Below the ranges that Linux (32768-60999) and macOS (49152-65535) give to outgoing connections: while the server is
 * down, one of the clients that keep trying could get its very port as its own, talk to itself, and keep the port.
 */
const [lowest, highest] = [12_000, 29_999];

/** A process listens some time after its port was chosen: until then, and while it is down, the port looks free. */
const given = new Set<number>();

/** A port of this machine that nobody listens on, that no other caller was given, and that stays free between two starts. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest));
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
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
