import { createServer } from 'node:net';

/**
 * Below the ranges that Linux (32768-60999) and macOS (49152-65535) give to outgoing connections: while a server is down, a
 * client that keeps trying could otherwise get the server's port as its own, talk to itself, and keep the port.
 */
const [lowest, sliceSize, slicesPerRun, runs] = [12_000, 1_500, 6, 2];

/**
 * Each jest worker takes ports from its own range, because two processes cannot see each other's recent choices. Runs at
 * the same time number their workers alike, so `.ci/run` numbers the runs.
 */
const [worker, run] = [
  Number(process.env['JEST_WORKER_ID'] ?? '0'),
  Number(process.env['COUNTERSIGN_TEST_RUN'] ?? '0'),
];
const lowestOfSlice = lowest + sliceSize * ((run % runs) * slicesPerRun + (worker % slicesPerRun));

/** A server listens some time after its port was chosen: until then, and while it is down, the port looks free. */
const given = new Set<number>();

/** A port of this machine that has no listener, that no other caller was given, and that stays free between two starts. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = lowestOfSlice + Math.floor(Math.random() * sliceSize);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
