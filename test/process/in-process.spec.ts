import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { openCountersign, type Countersign } from '@countersign/standalone';
import { createClient } from '@countersign/worker-sdk';
import { describe, expect, it } from '@jest/globals';
import { freePort } from '../ports.js';
import { cleanUpAfterEach, onCleanup, temporaryFolder } from './harness/cleanup.js';
import { inheritedEnvironment } from './harness/environment.js';
import { readTokens } from './harness/tokens.js';
import { eventually } from './harness/wait.js';

cleanUpAfterEach();

const program = join(import.meta.dirname, 'in-process', 'agent-process.ts');

function startAgent(folder: string, port: number) {
  const child = spawn(process.execPath, [program], {
    cwd: folder,
    env: { ...inheritedEnvironment(), COUNTERSIGN_PORT: String(port), COUNTERSIGN_LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  onCleanup(kill);
  return { ended, kill, errors: () => errors };
}

const notesIn = (folder: string): readonly string[] => {
  const file = join(folder, 'runs.log');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
};
const untilNoted = (folder: string, line: string, times = 1) =>
  eventually(`the note "${line}"`, () => notesIn(folder).filter((one) => one === line).length >= times || undefined);

describe('an agent with Countersign in its own process', () => {
  it('keeps its approval over a kill, and runs the approved call once', async () => {
    const [folder, port] = [temporaryFolder(), await freePort()];
    const killed = startAgent(folder, port);
    await untilNoted(folder, 'waits');
    await killed.kill();

    const restarted = startAgent(folder, port);
    await untilNoted(folder, 'waits', 2);
    const approver = createClient({ url: `http://127.0.0.1:${String(port)}`, token: readTokens(folder).me });
    const { approvals } = await approver.listApprovals({ state: 'pending' });
    expect(approvals).toHaveLength(1);
    await approver.respond(approvals[0]?.approvalId ?? '', { decision: { type: 'approve' } });
    expect(await restarted.ended).toBe(0);

    // It finds its result, and runs nothing again.
    expect(await startAgent(folder, port).ended).toBe(0);
    const result = 'result ["succeeded"]';
    expect(notesIn(folder)).toEqual(['waits', 'waits', 'ran 1', result, 'settled', result]);
  });

  it('refuses to start over the data folder of another one, and names the folder', async () => {
    const folder = temporaryFolder();
    startAgent(folder, await freePort());
    await untilNoted(folder, 'waits');
    const second = startAgent(folder, await freePort());
    expect(await second.ended).toBe(1);
    expect(second.errors()).toContain(join(folder, 'data'));
  });
});

describe('Countersign in a process', () => {
  const settings = async (folder: string) => ({
    COUNTERSIGN_DATA: join(folder, 'data'),
    COUNTERSIGN_PORT: String(await freePort()),
    COUNTERSIGN_LOG_LEVEL: 'warn',
  });
  const start = async (env: Readonly<Record<string, string>>): Promise<Countersign> => {
    const started = await openCountersign(env);
    onCleanup(started.close);
    return started;
  };

  it('can be closed and opened again in the same process', async () => {
    const env = await settings(temporaryFolder());
    const first = await start(env);
    await first.close();
    await expect(fetch(first.url)).rejects.toThrow('fetch failed');
    expect((await start(env)).connection).toEqual(first.connection);
  });

  it('is closed after each of two calls of close at once', async () => {
    const env = await settings(temporaryFolder());
    const first = await start(env);
    const closing = first.close();
    await first.close();
    // The port and the data folder are free.
    await start(env);
    await closing;
  });

  it('names the remedy when another process has the port, and releases the data folder', async () => {
    const { COUNTERSIGN_PORT } = await settings(temporaryFolder());
    const env = { ...(await settings(temporaryFolder())), COUNTERSIGN_PORT };
    const other = await start({ ...(await settings(temporaryFolder())), COUNTERSIGN_PORT });
    await expect(openCountersign(env)).rejects.toMatchObject({
      code: 'EADDRINUSE',
      message: expect.stringMatching(/:\d+\. Another process has the port: stop it, or set COUNTERSIGN_PORT\.$/),
    });
    await other.close();
    await start(env);
  });

  it('checks the tokens of its own process too', async () => {
    const { url, connection } = await start(await settings(temporaryFolder()));
    const forged = createClient({ url, token: `${connection.token}x`, attempts: 1 });
    await expect(forged.listRuns({})).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  it('hides the tokens when it is printed, and gives them to whoever spreads the connection', async () => {
    const countersign = await start(await settings(temporaryFolder()));
    const { token, resolverToken } = { ...countersign.connection };
    expect(token).not.toEqual('');
    expect(inspect(countersign)).toContain(countersign.url);
    for (const secret of [token, resolverToken]) expect(inspect(countersign)).not.toContain(secret);
  });

  it('requires the tokens when the tokens file has only hashes, and leaves nothing running', async () => {
    const folder = temporaryFolder();
    const tokensFile = join(folder, 'tokens.json');
    const tokenSha256 = createHash('sha256').update('secret').digest('hex');
    const entry = { principal: 'agent', roles: ['agent', 'resolver'], groups: [], tenant: 'default' };
    writeFileSync(tokensFile, JSON.stringify([{ tokenSha256, ...entry }]), { mode: 0o600 });
    const env = { ...(await settings(folder)), COUNTERSIGN_TOKENS_FILE: tokensFile };
    await expect(openCountersign(env)).rejects.toThrow(/COUNTERSIGN_TOKEN: must be set, .*no token of agent in clear/);
    const given = { COUNTERSIGN_TOKEN: 'secret', COUNTERSIGN_RESOLVER_TOKEN: 'secret' };
    const { connection } = await start({ ...env, ...given });
    expect(connection).toMatchObject({ token: 'secret', resolverToken: 'secret' });
  });
});
