import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { usageBetween, usageOf } from '../process-usage.ts';
import type { Usage } from '../process-usage.ts';

const cli = join(import.meta.dirname, '..', '..', 'apps', 'cli', 'bin', 'countersign.js');
const readyWithinMs = 90_000;

/** One role as a separate process, started as users start it. */
export interface RoleProcess {
  readonly role: string;
  readonly pid: number;
  readonly port: number;
  /** The value of one of its metrics, summed over its labels; 0 while there is none. */
  readonly metric: (name: string) => Promise<number>;
  readonly stop: () => Promise<void>;
}

type Environment = Readonly<Record<string, string>>;

/** `countersign topics create` for a prefix. */
export async function createTopics(env: Environment): Promise<void> {
  await promisify(execFile)(process.execPath, [cli, 'topics', 'create'], { env: { ...process.env, ...env } });
}

/** Starts a role on an empty folder and waits until it reports that it is ready. */
export async function startRole(role: string, env: Environment): Promise<RoleProcess> {
  const folder = mkdtempSync(join(tmpdir(), `countersign-bench-${role}-`));
  const child = spawn(process.execPath, [cli, 'start', role], {
    cwd: folder,
    env: {
      ...process.env,
      // With the channel the process notices when its parent has ended.
      COUNTERSIGN_LAUNCHED: '1',
      COUNTERSIGN_DATA: join(folder, 'data'),
      COUNTERSIGN_PORT: '0',
      COUNTERSIGN_LOG_LEVEL: 'warn',
      COUNTERSIGN_REQUESTS_PER_SECOND: '1000000',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-20_000)));
  }
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const deadline = performance.now() + readyWithinMs;
  let port = 0;
  while (!(await isReady(port))) {
    port = Number(/answers at http:\/\/127\.0\.0\.1:(\d+)/.exec(output)?.[1] ?? 0);
    if (hasEnded() || performance.now() > deadline) throw new Error(`the ${role} is not ready; it printed:\n${output}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {
    role,
    pid: child.pid ?? 0,
    port,
    metric: (name) => readMetric(port, name),
    stop: async () => {
      child.kill('SIGTERM');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function isReady(port: number): Promise<boolean> {
  if (port === 0) return false;
  const response = await fetch(`http://127.0.0.1:${String(port)}/readyz`).catch(() => undefined);
  await response?.body?.cancel();
  return response?.status === 200;
}

async function readMetric(port: number, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${String(port)}/metrics`)).text();
  return [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)`, 'gm'))].reduce(
    (sum, [, value]) => sum + Number(value),
    0,
  );
}

/** Reads what several processes have used, and later what they used since; undefined pids are left out. */
export function startUsage(pids: Readonly<Record<string, number | undefined>>): () => Record<string, number> {
  const before = new Map<string, Usage>();
  for (const [name, pid] of Object.entries(pids)) if (pid !== undefined) before.set(name, usageOf(pid));
  return () =>
    Object.fromEntries([...before].map(([name, usage]) => [name, usageBetween(usage, usageOf(pids[name] ?? 0)).cpuMs]));
}
