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
  const line = [...options, join(place, 'bin', 'countersign.js'), ...args];
  const { status, signal, stderr } = spawnSync(command, line, { encoding: 'utf8' });
  return { end: status ?? signal, stderr };
}

describe.each([
  ['hook claude-code', 2, 2],
  ['hook claude-code --post', 1, 137],
  ['list', 1, 137],
])('`countersign %s`', (line, failed, killed) => {
  const args = line.split(' ');

  it(`ends with ${failed} when it is not built`, () => {
    expect(run(undefined, args).end).toBe(failed);
  });

  it(`ends with ${failed} when the program is damaged, also under the launcher`, () => {
    const codes = [undefined, oldNode].map((node) => run('throw new Error("damaged");', args, node).end);
    expect(codes).toEqual([failed, failed]);
  });

  it(`ends with ${killed} when its process is killed under the launcher`, () => {
    expect(run(`process.kill(process.pid, 'SIGKILL');`, args, oldNode).end).toBe(killed);
  });

  it('ends with 0 when all went well', () => {
    expect(run('', args, oldNode).end).toBe(0);
  });
});

it.each(['hook claude-code', 'hook gemini --post', 'list'])(
  '`countersign %s` that ends with 2 does so under the launcher',
  (line) => {
    const args = line.split(' ');
    expect([undefined, oldNode].map((node) => run('process.exitCode = 2;', args, node).end)).toEqual([2, 2]);
  },
);

it('a killed hook says on stderr that its tool did not run: Gemini CLI takes 2 without a text for a fault, and runs the tool', () => {
  const { stderr } = run(`process.kill(process.pid, 'SIGKILL');`, ['hook', 'gemini'], oldNode);
  expect(stderr).toBe('countersign: the hook ended with 137, so the tool did not run.\n');
});
