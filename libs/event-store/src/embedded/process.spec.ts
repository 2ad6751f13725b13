import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { EventStoreUnavailableError } from '../event-store.js';
import { openEmbeddedEventStore } from './embedded-event-store.js';
import type { EmbeddedEventStore } from './embedded-event-store.js';

const script = join(import.meta.dirname, '../../fixtures/appending-process.mjs');

interface Acknowledged {
  readonly stream: string;
  readonly revision: number;
  readonly position: number;
}

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const open = (): Promise<EmbeddedEventStore> =>
  openEmbeddedEventStore({ folder, log: createSilentLog(), clock: systemClock });

function toAcknowledged(line: string): Acknowledged {
  const [stream = '', revision, position] = line.split(' ');
  return { stream, revision: Number(revision), position: Number(position) };
}

/** Runs a writer, calls back after a number of lines, and waits for its end. */
async function run(
  lines: number,
  onLines: (pid: number) => void | Promise<void>,
  env: NodeJS.ProcessEnv = {},
): Promise<{ readonly acknowledged: readonly Acknowledged[]; readonly signal: unknown }> {
  const child = spawn(process.execPath, [script, folder, '8'], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const acknowledged: Acknowledged[] = [];
  const exited = once(child, 'exit');
  let seen = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    seen += 1;
    if (line !== 'open') acknowledged.push(toAcknowledged(line));
    if (seen === lines) await onLines(child.pid ?? 0);
  }
  const [, signal] = (await exited) as [number | null, unknown];
  return { acknowledged, signal };
}

const kill = (pid: number): void => void process.kill(pid, 'SIGKILL');

async function expectAllThere(store: EmbeddedEventStore, acknowledged: readonly Acknowledged[]): Promise<void> {
  for (const { stream, revision, position } of acknowledged) {
    const events = await store.readStream(stream, revision);
    expect(events[0]).toMatchObject({ stream, revision, position });
  }
  // An append has two events: none is ever half there.
  expect((await store.head()) % 2).toBe(0);
  expect(await store.verify()).toMatchObject({ status: 'ok' });
}

describe('a process that is killed', () => {
  it('loses nothing that it acknowledged, time after time, and leaves the folder free', async () => {
    const acknowledged: Acknowledged[] = [];
    for (const lines of [1, 2, 40, 300, 1500]) {
      const ended = await run(lines, kill);
      expect(ended.signal).toBe('SIGKILL');
      acknowledged.push(...ended.acknowledged);
      const store = await open();
      await expectAllThere(store, acknowledged);
      await store.close();
    }
    expect(acknowledged.length).toBeGreaterThan(1800);
  });

  it.each([
    ['append.before-commit', 'lost'],
    ['append.after-commit', 'kept'],
    ['append.before-answer', 'kept'],
  ])('at %s has its last group %s, and all that was acknowledged', async (point, fate) => {
    const { acknowledged, signal } = await run(Infinity, () => undefined, { COUNTERSIGN_CRASH_AT: `${point}:20` });
    expect(signal).toBe('SIGKILL');
    const store = await open();
    await expectAllThere(store, acknowledged);
    const last = Math.max(...acknowledged.map(({ position }) => position));
    expect((await store.head()) > last ? 'kept' : 'lost').toBe(fate);
    await store.close();
  });
});

describe('a folder', () => {
  it('belongs to one process: a second one is told which process holds it', async () => {
    await run(1, async (pid) => {
      const opening = open();
      await expect(opening).rejects.toThrow(EventStoreUnavailableError);
      await expect(opening).rejects.toThrow(`the event store in ${folder} is in use by process ${pid}`);
      kill(pid);
    });
    const store = await open();
    await expect(open()).rejects.toThrow(`in use by process ${process.pid}`);
    const second = spawnSync(process.execPath, [script, folder, '1'], { encoding: 'utf8' });
    expect(second.status).toBe(3);
    expect(second.stderr).toContain(
      `EventStoreUnavailableError: the event store in ${folder} is in use by process ${process.pid}`,
    );
    await store.close();
    await (await open()).close();
  });
});
