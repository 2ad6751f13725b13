import { beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { jcsDigest } from '@countersign/contracts';
import { createClient, type Client } from '@countersign/worker-sdk';
import { cleanUpAfterAll, temporaryFolder } from '../../../../test/process/harness/cleanup.js';
import { install, type Installation } from '../../../../test/process/harness/standalone.js';
import { configurations, environmentOf, runHook, type HookEnd } from './configurations.js';

cleanUpAfterAll();

let place: Installation;
let ledger: Client;
let env: Record<string, string>;
beforeAll(async () => {
  place = await install();
  ledger = createClient({ url: `http://127.0.0.1:${place.port}`, token: place.tokens.me });
  env = environmentOf(place.port, place.dataFolder);
});

const claude = (session: string, more: object = {}): object => ({
  ...configurations[0]?.input(session, 'make'),
  ...more,
});
const gemini = (session: string, more: object = {}): object => ({
  ...configurations[2]?.input(session, 'make'),
  ...more,
});
const askedIn = async (runId: string): Promise<number> => (await ledger.listToolCalls({ runId })).calls.length;

/** Runs a shell that becomes the hook. A hook that hangs is killed. */
function runInShell(script: string, input: object, more: Record<string, string> = {}): Promise<HookEnd> {
  const limit = { timeout: 100_000, killSignal: 'SIGKILL' } as const;
  const child = spawn('sh', ['-c', script], { env: { ...env, ...more }, ...limit });
  const read = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (read.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (read.err += text));
  child.stdin.on('error', () => undefined).end(JSON.stringify(input));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      resolve({ code, ...read });
    });
  });
}

describe('a hook that cannot keep its marks', () => {
  const pending = { code: 0, out: expect.stringContaining('pending: approval apr_') };

  it('answers although a pipe stands in the place of a mark', async () => {
    const temporary = temporaryFolder();
    const folder = join(temporary, `countersign-hooks-${String(process.getuid?.())}`);
    mkdirSync(folder, { mode: 0o700 });
    execFileSync('mkfifo', [join(folder, `warned_${jcsDigest('pipe').slice('sha256:'.length)}`)]);
    const hook = runInShell('exec countersign hook gemini --hold 0', gemini('pipe'), { TMPDIR: temporary });
    expect(await hook).toMatchObject(pending);
  });

  it('answers where no temporary folder can be made', async () => {
    const hook = runInShell('exec countersign hook gemini --hold 0', gemini('no-folder'), { TMPDIR: '/proc/nope' });
    expect(await hook).toMatchObject(pending);
  });

  it('answers where the temporary folder is in a folder that is gone', async () => {
    const gone = join(temporaryFolder(), 'gone');
    mkdirSync(gone);
    const script = `cd '${gone}' && rmdir '${gone}' && exec countersign hook gemini --hold 0`;
    expect(await runInShell(script, gemini('gone'), { TMPDIR: 'rel' })).toMatchObject(pending);
    expect(() => {
      rmdirSync(gone);
    }).toThrow('ENOENT');
  });
});

describe('a hook whose output goes nowhere', () => {
  it.each(['>&-', '>/dev/null'])('blocks the tool, and asks no person, with %s', async (nowhere) => {
    const hook = await runInShell(`exec countersign hook claude-code --gate none ${nowhere}`, claude(nowhere));
    expect(hook).toMatchObject({ code: 2, err: expect.stringContaining('no process reads its stdout') });
    expect(await askedIn(nowhere)).toBe(0);
  });
});

describe('a hook with wrong options', () => {
  it('blocks the tool that would run before its report hook', async () => {
    const hook = await runHook('countersign hook claude-code --post', claude('misplaced'), env);
    expect(hook).toMatchObject({ code: 2, out: expect.stringContaining('"permissionDecision":"deny"') });
    expect(hook.err).toContain('Remove --post');
  });

  it('does not stop the agent after a tool', async () => {
    const hook = await runHook('countersign hook claude-code --post --gate sometimes', claude('wrong'), env);
    expect(hook).toMatchObject({ code: 1, err: expect.stringContaining('--gate') });
  });

  it('asks no person when the lease is longer than a claim may last', async () => {
    const hook = await runHook('countersign hook claude-code --hold 0 --lease 25h', claude('lease'), env);
    expect(hook).toMatchObject({ code: 2, err: expect.stringContaining('--lease must be at most 24h') });
    expect(await askedIn('lease')).toBe(0);
  });
});

describe('a result that the ledger refuses', () => {
  it.each([
    ['a lone surrogate', '"\\ud800"', /lone surrogate/],
    ['an integer beyond 2^53', '1152921504606846977', /integer beyond/],
    ['the key __proto__', '{"__proto__":1}', /forbidden key/],
    ['deep nesting', `${'['.repeat(100)}${']'.repeat(100)}`, /nested too deeply/],
    ['2 MB', `"${'x'.repeat(2_000_000)}"`, /has 2000002 bytes/],
  ])('is recorded as %s', async (name, json, why) => {
    await runHook('countersign hook claude-code --gate none', claude(name), env);
    const text = JSON.stringify(claude(name, { hook_event_name: 'PostToolUse', tool_response: '@' }));
    const script = `exec countersign hook claude-code --post`;
    const child = spawn('sh', ['-c', script], { env, stdio: ['pipe', 'ignore', 'inherit'] });
    child.stdin.end(text.replace('"@"', () => json));
    expect(await new Promise((resolve) => child.once('close', resolve))).toBe(0);
    const { calls } = await ledger.listToolCalls({ runId: name });
    expect(calls).toMatchObject([{ state: 'succeeded', output: { unrecorded: expect.stringMatching(why) } }]);
  });
});
