import { once } from 'node:events';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { cleanUpAfterEach, onCleanup, temporaryFolder } from './harness/cleanup.js';
import { freePort } from '../ports.js';
import { startReadyServer, startServer } from './harness/server.js';
import { readTokens } from './harness/tokens.js';
import { eventually, within } from './harness/wait.js';

cleanUpAfterEach();

interface Refusal {
  readonly code: number | null | undefined;
  readonly output: string;
  /** The files that the start created in its folder. */
  readonly created: readonly string[];
}

/** Starts with files in the folder, and expects the process to exit. */
async function refusalOf(
  env: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string>> = {},
): Promise<Refusal> {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const server = startServer({ folder, port: await freePort(), env });
  const exit = await within(100_000, server.exited);
  const created = readdirSync(folder).filter((name) => !Object.hasOwn(files, name));
  return { code: exit?.code, output: server.output(), created };
}

/** A port of this machine that is listened on until the test ends. */
async function takenPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  onCleanup(() => void server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

describe('a configuration that cannot be used ends the start: every problem is named, nothing is created', () => {
  test('variables', async () => {
    const env = { COUNTERSIGN_PORT: 'abc', COUNTERSIGN_LOG_LEVEL: 'loud' };
    const { code, output, created } = await refusalOf(env);
    expect(code).toBe(1);
    expect(output).toMatch(/COUNTERSIGN_PORT: .*port/);
    expect(output).toMatch(/COUNTERSIGN_LOG_LEVEL: /);
    expect(created).toEqual([]);
  });

  test('a port beyond the last', async () => {
    const { code, output } = await refusalOf({ COUNTERSIGN_PORT: '70000' });
    expect(code).toBe(1);
    expect(output).toContain('COUNTERSIGN_PORT');
  });

  test('a port that another process has, in one line', async () => {
    const { code, output } = await refusalOf({ COUNTERSIGN_PORT: String(await takenPort()) });
    expect(code).toBe(1);
    expect(output).toMatch(
      /cannot start: listen EADDRINUSE: .*Another process has the port: stop it, or set COUNTERSIGN_PORT\./,
    );
    expect(output.trimEnd().split('\n')).toHaveLength(1);
  });

  test('a policy file that is not there', async () => {
    const { code, output, created } = await refusalOf({ COUNTERSIGN_POLICY: 'nowhere.yaml' });
    expect(code).toBe(1);
    expect(output).toMatch(/COUNTERSIGN_POLICY: file not found: .*nowhere\.yaml\. Create it or unset the variable\./);
    expect(created).toEqual([]);
  });

  test('a policy file, with the line of each problem', async () => {
    const policy = 'version: 1\ndefault: perhaps\nautoApprovedTools: ["get_*"]\nrequireApprovalTolls: ["x"]\n';
    const { code, output, created } = await refusalOf({ COUNTERSIGN_POLICY: 'policy.yaml' }, { 'policy.yaml': policy });
    expect(code).toBe(1);
    expect(output).toMatch(/policy\.yaml:2: default/);
    expect(output).toMatch(/policy\.yaml:4: requireApprovalTolls/);
    expect(created).toEqual([]);
  });

  test('a tools file, with the place of each problem', async () => {
    const tools = JSON.stringify({
      tools: [
        { name: 'a', http: { url: 'ftp://example.test/' } },
        { name: 'b', module: './b.mjs', retries: 3 },
        { name: 'c' },
      ],
    });
    const { code, output, created } = await refusalOf({ COUNTERSIGN_TOOLS: 'tools.json' }, { 'tools.json': tools });
    expect(code).toBe(1);
    expect(output).toContain('tools[0].http.url');
    expect(output).toContain('tools[1].retries');
    expect(output).toContain('tools[2]');
    expect(created).toEqual([]);
  });

  test('a module of a tool that is not there', async () => {
    const tools = JSON.stringify({ tools: [{ name: 'b', module: './nowhere.mjs' }] });
    const { code, output, created } = await refusalOf({ COUNTERSIGN_TOOLS: 'tools.json' }, { 'tools.json': tools });
    expect(code).toBe(1);
    expect(output).toContain('nowhere.mjs');
    expect(created).toEqual([]);
  });

  test('a tokens file that is not there, or that names the same token twice', async () => {
    const missing = await refusalOf({ COUNTERSIGN_TOKENS_FILE: 'nowhere.json' });
    expect(missing.code).toBe(1);
    expect(missing.output).toContain('nowhere.json');
    const entry = { token: 'abcdefghijklmnopqrstuvwxyz0123456789', principal: 'a', roles: ['agent'] };
    const text = JSON.stringify([entry, { ...entry, principal: 'b' }]);
    const twice = await refusalOf({ COUNTERSIGN_TOKENS_FILE: 'tokens.json' }, { 'tokens.json': text });
    expect(twice.code).toBe(1);
    expect(twice.output).toContain('tokens.json');
    // The error about a secret does not contain it.
    expect(twice.output).not.toContain(entry.token);
  });
});

describe('a start', () => {
  test('names the policy file that it uses', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'policy.yaml');
    writeFileSync(file, 'version: 1\n');
    const server = await startReadyServer({ folder, port: await freePort(), env: { COUNTERSIGN_POLICY: file } });
    expect(server.output()).toContain(`"policy":${JSON.stringify(file)}`);
  });

  test('follows a candidate policy, over a kill and past a broken one, and is judged by the other', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'candidate.yaml');
    writeFileSync(file, 'rules: broken');
    const env = { COUNTERSIGN_POLICY_SHADOW: file };
    const start = async () => startReadyServer({ folder, port: await freePort(), env });
    const judged = async (server: Awaited<ReturnType<typeof start>>, runId: string): Promise<readonly string[]> => {
      const { http } = server;
      const tokens = readTokens(folder);
      const body = { runId, calls: [{ toolCallId: 'a', toolName: 'drop', arguments: {} }] };
      const asked = await http.send({ method: 'POST', path: '/v1/tool-calls', token: tokens.agent, body });
      const { calls } = asked.body as { calls: { callId: string; state: string }[] };
      expect(calls[0]?.state).toBe('allowed');
      const path = `/v1/audit/tool-calls/${calls[0]?.callId ?? ''}/events`;
      const { body: audited } = await http.send({ method: 'GET', path, token: tokens.me });
      return (audited as { events: { type: string }[] }).events.map(({ type }) => type);
    };
    const untilJudged = async (server: Awaited<ReturnType<typeof start>>, name: string): Promise<void> => {
      const deadline = Date.now() + 100_000;
      for (let n = 0; !(await judged(server, `${name}-${String(n)}`)).includes('ToolCallShadowJudged'); n += 1) {
        if (Date.now() > deadline) throw new Error('the candidate does not judge');
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    };
    const first = await start();
    expect(await judged(first, 'broken')).toEqual(['ToolCallRequested', 'ToolCallAllowed']);
    // The file is read once it has been the same for half a second.
    const isTold = (): true | undefined => first.output().includes(`${file}:1: rules:`) || undefined;
    await eventually('the broken candidate to be named', isTold);
    writeFileSync(file, 'version: 1\ndefault: require\n');
    await untilJudged(first, 'fixed');
    first.kill('SIGKILL');
    await first.exited;
    await untilJudged(await start(), 'again');
  });
});

describe('an address that other machines reach', () => {
  test('is refused without a tokens file of the operator', async () => {
    const { code, output, created } = await refusalOf({ COUNTERSIGN_HOST: '0.0.0.0' });
    expect(code).toBe(1);
    expect(output).toContain('COUNTERSIGN_TOKENS_FILE');
    expect(output).toContain('0.0.0.0');
    expect(created).toEqual([]);
  });

  test('is taken with one, and no token is printed', async () => {
    const folder = temporaryFolder();
    const token = 'a-token-of-the-operator-0123456789-abcdefgh';
    const file = join(folder, 'operator.json');
    writeFileSync(file, JSON.stringify([{ token, principal: 'carol', roles: ['approver'], groups: [] }]), {
      mode: 0o600,
    });
    const env = { COUNTERSIGN_HOST: '0.0.0.0', COUNTERSIGN_TOKENS_FILE: file };
    const server = await startReadyServer({ folder, port: await freePort(), env });
    const answer = await server.http.send({ method: 'GET', path: '/v1/approvals', token });
    expect(answer.status).toBe(200);
    expect(server.output()).not.toContain(token);
    expect(existsSync(join(folder, 'data', 'tokens.json'))).toBe(false);
  });
});
