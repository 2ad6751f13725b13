import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LedgerAddress } from './ledger.js';

/** A Countersign of the kit's own. */
export interface KitServer extends LedgerAddress {
  /** Stops it and deletes its data. */
  readonly stop: () => Promise<void>;
}

/**
 * Approvals of the agent `conformance-hasty` expire after three seconds. Of a nested agent the policy asks for the approval: a
 * framework may have no way to pause inside it, and a tool that the worker itself always asks about.
 */
const policy = `version: 1
rules:
  - id: hasty
    match: { agents: [conformance-hasty] }
    then: { require: { expiresIn: 3s } }
  - id: nested
    match: { agents: [conformance-nested], tools: [refund] }
    then: { require: {} }
`;

const readyWithinMs = 60_000;

/**
 * Starts Countersign on a free port and an empty folder: `node <bin> start standalone`. Rejects with its output when it
 * does not get ready.
 */
export async function startKitServer(bin: string): Promise<KitServer> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-conformance-'));
  writeFileSync(join(folder, 'policy.yaml'), policy);
  const url = `http://127.0.0.1:${String(await freePort())}`;
  const child = spawn(process.execPath, [bin, 'start', 'standalone'], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      COUNTERSIGN_LAUNCHED: '1',
      COUNTERSIGN_DATA: join(folder, 'data'),
      COUNTERSIGN_PORT: new URL(url).port,
      COUNTERSIGN_POLICY: join(folder, 'policy.yaml'),
      COUNTERSIGN_LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-4000);
    });
  }
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await untilReady(`${url}/readyz`, () => (child.exitCode === null ? undefined : output));
    return { url, ...readTokens(join(folder, 'data', 'tokens.json')), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function untilReady(url: string, outputIfEnded: () => string | undefined): Promise<void> {
  const giveUpAt = performance.now() + readyWithinMs;
  for (;;) {
    const isReady = await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return;
    const output = outputIfEnded();
    if (output !== undefined) throw new Error(`Countersign did not start; it printed:\n${output}`);
    if (performance.now() > giveUpAt) throw new Error(`Countersign was not ready within ${readyWithinMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function readTokens(file: string): Omit<LedgerAddress, 'url'> {
  const entries = JSON.parse(readFileSync(file, 'utf8')) as { readonly principal: string; readonly token: string }[];
  const tokenOf = (principal: string): string => entries.find((entry) => entry.principal === principal)?.token ?? '';
  return { agentToken: tokenOf('agent'), workerToken: tokenOf('worker'), approverToken: tokenOf('me') };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
