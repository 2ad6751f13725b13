import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

const lockModule = pathToFileURL(join(import.meta.dirname, '..', '..', 'scripts', 'lock.mjs')).href;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-lock-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const lock = (): string => join(folder, 'prepare.lock');
const trail = (): string => join(folder, 'trail');

/** Starts a process that takes the lock, writes that it begins and ends, and holds the lock for a moment in between. */
async function holder(name: string, holdMs: number): Promise<{ readonly code: number | null; readonly said: string }> {
  const code = `
    import { appendFileSync } from 'node:fs';
    import { setTimeout as sleep } from 'node:timers/promises';
    import { withLock } from ${JSON.stringify(lockModule)};
    await withLock(${JSON.stringify(lock())}, 'install', async () => {
      appendFileSync(${JSON.stringify(trail())}, '${name} begins\\n');
      await sleep(${String(holdMs)});
      appendFileSync(${JSON.stringify(trail())}, '${name} ends\\n');
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const [exitCode] = (await once(child, 'close')) as [number | null];
  return { code: exitCode, said };
}

const idOfEndedProcess = (): number => spawnSync(process.execPath, ['-e', '']).pid;

describe('the lock of installs and builds', () => {
  it('lets one process at a time work, and the others say whom they wait for', async () => {
    const ended = await Promise.all(['a', 'b', 'c', 'd'].map((name) => holder(name, 300)));
    expect(ended.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    const lines = readFileSync(trail(), 'utf8').trim().split('\n');
    expect(lines).toHaveLength(8);
    for (let at = 0; at < lines.length; at += 2)
      expect(lines[at + 1]).toBe(String(lines[at]).replace('begins', 'ends'));
    const waited = ended.filter(({ said }) => /Waiting for process \d+, which holds .*\(install\)/.test(said));
    expect(waited.length).toBeGreaterThan(0);
    expect(existsSync(lock())).toBe(false);
  });

  it('is taken over from a process that was killed', async () => {
    writeFileSync(lock(), String(idOfEndedProcess()));
    expect(await holder('a', 0)).toEqual({ code: 0, said: '' });
    expect(readFileSync(trail(), 'utf8')).toBe('a begins\na ends\n');
  });

  it('is taken over from a process that was killed before it wrote its number', async () => {
    writeFileSync(lock(), '');
    const longAgo = Date.now() / 1000 - 60;
    utimesSync(lock(), longAgo, longAgo);
    expect((await holder('a', 0)).code).toBe(0);
  });
});
