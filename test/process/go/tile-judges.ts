import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { formatTilePath, parseCheckpoint, parseNote, widthAt } from '@countersign/audit';
import { expect } from '@jest/globals';
import { hasPython, installPython } from '../../python-environment.js';
import type { Installation } from '../harness/standalone.js';

/** Tessera's own check of a log. On a log that is wrong it reads again without end. */
export function fsck(folder: string, url: string, token: string | undefined, timeoutMs: number) {
  const options = [`--storage_url=${url}`, `--public_key=${join(folder, 'key.txt')}`, '--ui=false'];
  const bearer = token === undefined ? [] : [`--bearer_token=${token}`];
  const { status, stderr } = spawnSync(join(folder, 'fsck'), [...options, ...bearer], {
    encoding: 'utf8',
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
  return { status, isSound: status === 0 && stderr.includes("Successfully fsck'd log"), stderr };
}

/** Runs a command of the Python program `aics-tlog`, and returns what it reports. */
export type AicsTlog = (command: string, ...options: readonly string[]) => Readonly<Record<string, unknown>>;

/** Installs `aics-tlog`; undefined where there is no Python, which CI has. */
export async function installAicsTlog(folder: string): Promise<AicsTlog | undefined> {
  if (!hasPython) return undefined;
  // It names Python 3.12 as its oldest. It has nothing that 3.11, which Debian 12 has, cannot run.
  const python = await installPython('judges', 'test/judges/requirements.txt', { PIP_IGNORE_REQUIRES_PYTHON: '1' });
  return (command, ...options) => {
    const args = ['-m', 'aics_tlog', command, '--vkey-file', 'key.txt', ...options];
    const { stdout, stderr } = spawnSync(python, args, { cwd: folder, encoding: 'utf8' });
    expect(stderr).toBe('');
    return JSON.parse(stdout) as Readonly<Record<string, unknown>>;
  };
}

/** Copies all tiles into `tiles`, as a mirror keeps them, and returns their paths. */
export async function mirror({ folder, port }: Installation, token: string): Promise<readonly string[]> {
  const get = async (path: string): Promise<Buffer> => {
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(`http://127.0.0.1:${String(port)}/v1/log/${path}`, { headers });
    expect([path, response.status]).toEqual([path, 200]);
    return Buffer.from(await response.arrayBuffer());
  };
  const note = await get('checkpoint');
  const { size } = parseCheckpoint(parseNote(note.toString())!.text)!;
  const paths = ['checkpoint'];
  for (const level of [0, 1, 'entries'] as const) {
    for (let index = 0; ; index += 1) {
      const width = widthAt(size, level === 'entries' ? 0 : level, index);
      if (width === 0) break;
      paths.push(formatTilePath({ level, index, width }));
    }
  }
  for (const path of paths) {
    const file = join(folder, 'tiles', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, path === 'checkpoint' ? note : await get(path));
  }
  return paths;
}

/** Changes one bit of a file, and returns what undoes it. */
export function changeBit(file: string, place = 0.5): () => void {
  const honest = readFileSync(file);
  const changed = Buffer.from(honest);
  const at = Math.floor(changed.length * place);
  changed[at] = (changed[at] ?? 0) ^ 1;
  writeFileSync(file, changed);
  return () => {
    writeFileSync(file, honest);
  };
}
