import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const bin = join(import.meta.dirname, '../../../apps/cli/bin');

/** The packages of the command line, in which a program of ours takes the place of the built one. */
let place: string;
/** A Node that the launcher takes for an old one, so that it hands over to the pinned one. */
let oldNode: readonly string[];
beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'countersign-launcher-'));
  writeFileSync(join(place, 'package.json'), '{ "type": "module" }');
  cpSync(bin, join(place, 'bin'), { recursive: true });
  mkdirSync(join(place, 'bundle'));
  const pinned = join(place, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin');
  mkdirSync(pinned, { recursive: true });
  for (const file of [join(pinned, 'node'), join(place, 'old-node')]) copyFileSync(process.execPath, file);
  const versions = `Object.defineProperty(process, 'versions', { value: { ...process.versions, sqlite: '3.49.1' } });`;
  oldNode = [join(place, 'old-node'), '--import', `data:text/javascript,${encodeURIComponent(versions)}`];
});
afterAll(() => {
  rmSync(place, { recursive: true });
});

function run(program: string | undefined, args: readonly string[], node: readonly string[] = [process.execPath]) {
  const main = join(place, 'bundle', 'main.js');
  rmSync(main, { force: true });
  if (program !== undefined) writeFileSync(main, program);
  const [command = '', ...options] = node;
  const { status, signal } = spawnSync(command, [...options, join(place, 'bin', 'countersign.js'), ...args]);
  return status ?? signal;
}

describe.each([
  ['hook claude-code', 2, 2],
  ['hook claude-code --post', 1, 137],
  ['list', 1, 137],
])('`countersign %s`', (line, failed, killed) => {
  const args = line.split(' ');

  it(`ends with ${failed} when it is not built`, () => {
    expect(run(undefined, args)).toBe(failed);
  });

  it(`ends with ${failed} when the program is damaged, also under the launcher`, () => {
    const codes = [undefined, oldNode].map((node) => run('throw new Error("damaged");', args, node));
    expect(codes).toEqual([failed, failed]);
  });

  it(`ends with ${killed} when its process is killed under the launcher`, () => {
    expect(run(`process.kill(process.pid, 'SIGKILL');`, args, oldNode)).toBe(killed);
  });

  it('ends with 0 when all went well', () => {
    expect(run('', args, oldNode)).toBe(0);
  });
});
