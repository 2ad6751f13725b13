import { describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { freePort } from '../ports.js';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';

cleanUpAfterEach();

async function npmStart(...args: readonly string[]) {
  const port = await freePort();
  const { status, stdout, stderr } = spawnSync('npm', ['start', '--silent', '--', ...args], {
    cwd: join(import.meta.dirname, '..', '..'),
    encoding: 'utf8',
    timeout: 100_000,
    env: { ...process.env, COUNTERSIGN_DATA: temporaryFolder(), COUNTERSIGN_PORT: String(port) },
  });
  return { status, stdout, stderr, port };
}

describe('`npm start -- ARGS`', () => {
  it('passes its arguments on', async () => {
    const { status, stdout, port } = await npmStart('--print-config');
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ port });
  });

  it('starts nothing with an argument that is unknown, and names the help', async () => {
    const { status, stderr } = await npmStart('--port', '7499');
    expect(status).toBe(2);
    expect(stderr).toContain("unknown option '--port'");
    expect(stderr).toContain('See `countersign start --help`');
  });
});
