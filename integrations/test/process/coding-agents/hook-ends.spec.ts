import { describe, expect, it } from '@jest/globals';
import { execFileSync, spawn } from 'node:child_process';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { freePort } from '../../../../test/ports.js';
import { cleanUpAfterAll, onCleanup, temporaryFolder } from '../../../../test/process/harness/cleanup.js';
import { configurations, environmentOf } from './configurations.js';

cleanUpAfterAll();

/** A peer that accepts connections, and does this with what it gets. */
async function peer(answer: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('data', () => answer(socket));
  }).listen(0, '127.0.0.1');
  onCleanup(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  await new Promise((resolve) => server.once('listening', resolve));
  return (server.address() as AddressInfo).port;
}

const silent = (): Promise<number> => peer(() => undefined);
const behindProxy = (port: number): Record<string, string> => ({
  COUNTERSIGN_URL: 'https://countersign.example',
  NODE_USE_ENV_PROXY: '1',
  HTTPS_PROXY: `http://127.0.0.1:${port}`,
});

/** A thread of Node that waits without end, as one that looks up a name does while no name server responds. */
function withWaitingThread(): Record<string, string> {
  const pipe = join(temporaryFolder(), 'pipe');
  execFileSync('mkfifo', [pipe]);
  const open = `import { open } from 'node:fs'; open(${JSON.stringify(pipe)}, 'r', () => undefined);`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(open)}` };
}

interface End {
  readonly code: number | null;
  readonly out: string;
  /** From the answer to the end of the process, in ms. */
  readonly lingerMs: number;
}

async function run(command: string, input: object, more: Record<string, string>): Promise<End> {
  const tokens = { COUNTERSIGN_TOKEN: 'agent', COUNTERSIGN_RESOLVER_TOKEN: 'resolver' };
  const env = { ...environmentOf(await freePort(), '/nowhere'), ...tokens, ...more };
  const child = spawn('sh', ['-c', `exec ${command}`], { env, timeout: 100_000, killSignal: 'SIGKILL' });
  let out = '';
  let answeredAt = 0;
  const hear = (text: string): string => {
    answeredAt = performance.now();
    return text;
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += hear(text)));
  child.stderr.setEncoding('utf8').on('data', hear);
  child.stdin.end(JSON.stringify(input));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      resolve({ code, out, lingerMs: performance.now() - answeredAt });
    });
  });
}

describe('the process of a hook', () => {
  const input = configurations[0]?.input('ends', 'make') ?? {};
  const places: readonly (readonly [string, () => Promise<Record<string, string>>])[] = [
    ['never finishes the TLS handshake', async () => ({ COUNTERSIGN_URL: `https://127.0.0.1:${await silent()}` })],
    ['is behind a proxy that never answers CONNECT', async () => behindProxy(await silent())],
    ['is behind a proxy that answers no HTTP', async () => behindProxy(await peer((s) => s.write('junk\r\n')))],
    [
      'has a name that no name server looks up',
      async () => ({ COUNTERSIGN_URL: `https://127.0.0.1:${await silent()}`, ...withWaitingThread() }),
    ],
  ];

  // Each of them waits for seconds.
  it.concurrent.each(places)('ends with its denial when the server %s', async (_name, place) => {
    const { code, out, lingerMs } = await run('countersign hook claude-code --hold 0', input, await place());
    expect([code, out]).toEqual([2, expect.stringContaining('"permissionDecision":"deny"')]);
    expect(lingerMs).toBeLessThan(10_000);
  });

  it.concurrent('ends with its answer after a tool', async () => {
    const url = `https://127.0.0.1:${await silent()}`;
    const ended = { ...input, hook_event_name: 'PostToolUse' };
    const { code, lingerMs } = await run('countersign hook claude-code --post', ended, { COUNTERSIGN_URL: url });
    expect(code).toBe(1);
    expect(lingerMs).toBeLessThan(10_000);
  });
});
