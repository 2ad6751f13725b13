import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, expect, it } from '@jest/globals';
import { freeze, isFrozen } from '../freeze.ts';

const child = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1); console.log("runs")']);
const pid = child.pid ?? 0;
afterAll(async () => {
  child.kill('SIGKILL');
  await once(child, 'close');
});

it('a frozen process has no thread left that runs', async () => {
  await once(child.stdout, 'data');
  for (let times = 0; times < 50; times += 1) {
    expect(isFrozen(pid)).toBe(false);
    await freeze(pid);
    expect(isFrozen(pid)).toBe(true);
    process.kill(pid, 'SIGCONT');
  }
});
