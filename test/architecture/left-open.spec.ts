import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '..', '..');

const specs = {
  server: `test('passes', () => { require('node:net').createServer().listen(0); });`,
  timer: `test('passes', () => { setInterval(() => undefined, 60_000); });`,
  child: `test('passes', () => { require('node:child_process').spawn('sleep', ['20'], { stdio: 'ignore' }); });`,
  tidy: `test('passes', (done) => { const server = require('node:net').createServer().listen(0, () => server.close(done)); });`,
};

describe('the environment of the suites', () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-left-open-'));
  let status: number | null;
  let output: string;

  // Two workers, as in the suites: jest's own timers run in the main process alone.
  beforeAll(() => {
    for (const [name, source] of Object.entries(specs)) writeFileSync(join(folder, `${name}.spec.cjs`), source);
    const config = {
      rootDir: folder,
      testMatch: ['<rootDir>/*.spec.cjs'],
      testEnvironment: join(root, 'test', 'node-environment.mjs'),
      transform: {},
    };
    const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
    const args = ['--experimental-vm-modules', jest, '--config', JSON.stringify(config), '--maxWorkers=2'];
    ({ status, stderr: output } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' }));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each([
    ['server', 'TCPServerWrap'],
    ['timer', 'Timeout'],
    ['child', 'ProcessWrap'],
  ])('fails a spec that leaves a %s open, and says so', (name, kind) => {
    expect(output).toContain(`${name}.spec.cjs left open: 1 ${kind}`);
    expect(status).toBe(1);
  });

  it('accepts a spec that closes what it opened', () => {
    expect(output).toMatch(/PASS .*tidy\.spec\.cjs/);
  });
});
