import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

const script = join(import.meta.dirname, '..', '..', 'examples', 'local-tokens.mjs');
const printed = 'console.log(process.env.COUNTERSIGN_TOKEN, process.env.COUNTERSIGN_RESOLVER_TOKEN)';
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-tokens-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function start(tokens: unknown, given: Readonly<Record<string, string>> = {}, flags: readonly string[] = []) {
  if (tokens !== undefined)
    writeFileSync(join(folder, 'tokens.json'), typeof tokens === 'string' ? tokens : JSON.stringify(tokens));
  const env = { COUNTERSIGN_DATA: folder, ...given };
  const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, '--import', script, '--eval', printed], {
    env,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

describe('the tokens of an example on the machine of the server', () => {
  it('are those of `agent` and `worker` in the tokens file', () => {
    const tokens = ['me', 'agent', 'worker'].map((principal) => ({ principal, token: `cs_${principal}` }));
    expect(start(tokens)).toEqual({ status: 0, stdout: 'cs_agent cs_worker\n', stderr: '' });
  });

  it('are those of the environment when both are set, without a tokens file', () => {
    const given = { COUNTERSIGN_TOKEN: 'a', COUNTERSIGN_RESOLVER_TOKEN: 'b' };
    expect(start(undefined, given)).toEqual({ status: 0, stdout: 'a b\n', stderr: '' });
  });

  it.each([
    ['there is no file', undefined],
    ['the file is not JSON', '[{'],
    ['the file is an object', {}],
    ['an entry is null', [null]],
    ['the file has only hashes', [{ principal: 'agent', tokenSha256: 'ab' }]],
    ['the token is not a text', [{ principal: 'agent', token: 3 }]],
    ['the file has other principals', [{ principal: 'bot', token: 'cs_bot' }]],
  ])('are missed in one line that names the file and the remedy: %s', (_, tokens) => {
    const { status, stdout, stderr } = start(tokens);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr.split('\n')).toEqual([expect.stringContaining(join(folder, 'tokens.json')), '']);
    expect(stderr).toContain('No token of "agent"');
    expect(stderr).toContain('or set COUNTERSIGN_TOKEN.');
  });

  it('are not read by a Node that runs no TypeScript, which says in one line which version is needed', () => {
    const { status, stderr } = start([], {}, ['--no-strip-types']);
    const line = `Node ${process.versions.node} does not run the TypeScript of the examples: use Node 22.18 or later.`;
    expect({ status, stderr }).toEqual({ status: 1, stderr: `${line}\n` });
  });
});
