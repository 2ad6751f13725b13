import { expect, test } from '@jest/globals';
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onCleanup } from './harness/cleanup.js';

function start(way: 'killed' | 'exits'): ChildProcessWithoutNullStreams {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'log', 'logging-process.ts'), way]);
  onCleanup(() => {
    child.kill('SIGKILL');
  });
  return child;
}

test('the lines of a log are written before a kill that follows them', async () => {
  expect(await text(start('killed').stderr)).toContain('line 100 of 100');
});

test('a process ends after the reader of its log has ended', async () => {
  const child = start('exits');
  child.stderr.destroy();
  child.stdin.write('go\n');
  expect(await once(child, 'exit')).toEqual([3, null]);
});
