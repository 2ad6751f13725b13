import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, beforeAll } from '@jest/globals';
import type { Decision } from '@countersign/contracts';
import { createClient } from '@countersign/worker-sdk';
import { hasPython, installMsMax, installPython } from '../../../test/python-environment.js';
import { cleanUpAfterAll, onCleanup, temporaryFolder } from '../../../test/process/harness/cleanup.js';
import { install, type Installation } from '../../../test/process/harness/standalone.js';
import { eventually } from '../../../test/process/harness/wait.js';

const example = join(import.meta.dirname, '..', '..', 'examples', 'python', 'agent.py');
let python: string;
let countersign: Installation;

/** Starts the example in a folder, with the tokens of the first start. */
function startAgent(folder: string, ...args: readonly string[]) {
  return startAgentWith({}, folder, ...args);
}

/** Starts the example with more variables. */
function startAgentWith(env: Readonly<Record<string, string>>, folder: string, ...args: readonly string[]) {
  const child = spawn(python, [example, ...args], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      COUNTERSIGN_URL: `http://127.0.0.1:${String(countersign.port)}`,
      COUNTERSIGN_DATA: countersign.dataFolder,
      PYTHONDONTWRITEBYTECODE: '1',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [said, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  onCleanup(() => {
    child.kill('SIGKILL');
    return ended;
  });
  /** The result of the gated tool. */
  const result = async (): Promise<unknown> => {
    await ended;
    const lines = said.split('\n').filter((line) => line.includes('run_command'));
    if (lines.length !== 1) throw new Error(`the example has no result:\n${said}${errors}`);
    return JSON.parse(lines[0] ?? '');
  };
  return { kill: () => child.kill('SIGKILL'), ended, result, errors: () => errors };
}

/** Responds to the approval of a run as soon as there is one. */
async function decide(runId: string, decision: Decision, reason?: string): Promise<void> {
  const me = createClient({ url: `http://127.0.0.1:${String(countersign.port)}`, token: countersign.tokens.me });
  const approval = await eventually('an approval', async () => {
    const { approvals } = await me.listApprovals({ runId });
    return approvals[0];
  });
  const { approvalId, proposal } = approval;
  await me.respond(approvalId, {
    decision,
    proposalDigest: proposal.digest,
    ...(reason === undefined ? {} : { reason }),
  });
}

if (hasPython) {
  describe('the example in Python', () => {
    cleanUpAfterAll();
    beforeAll(async () => {
      python = await installPython('client', 'integrations/examples/python/requirements.txt');
      countersign = await install();
    }, installMsMax);

    it('runs a command once a person approved it, and only once', async () => {
      const folder = temporaryFolder();
      const args = ['--run', 'approve', '--command', 'echo ran >> log; cat log'];
      const agent = startAgent(folder, ...args);
      await decide('approve', { type: 'approve' });
      const result = { tool: 'run_command', status: 'succeeded', text: 'ran\n' };
      expect(await agent.result()).toEqual(result);
      expect(await startAgent(folder, ...args).result()).toEqual(result);
      expect(readFileSync(join(folder, 'log'), 'utf8')).toBe('ran\n');
    });

    it('runs no denied command, and hears the reason', async () => {
      const folder = temporaryFolder();
      const agent = startAgent(folder, '--run', 'deny', '--command', 'touch ran');
      await decide('deny', { type: 'deny' }, 'not on a Friday');
      expect(await agent.result()).toMatchObject({
        status: 'denied',
        text: expect.stringContaining('not on a Friday'),
      });
      expect(existsSync(join(folder, 'ran'))).toBe(false);
    });

    it('runs the command that an approver put in its place', async () => {
      const folder = temporaryFolder();
      const agent = startAgent(folder, '--run', 'edit', '--command', 'touch first');
      await decide('edit', { type: 'edit', arguments: { command: 'touch second' } });
      expect(await agent.result()).toMatchObject({
        text: expect.stringMatching(/changed the arguments[^]*touch second/),
      });
      expect([existsSync(join(folder, 'first')), existsSync(join(folder, 'second'))]).toEqual([false, true]);
    });

    it('runs nothing when a person answers in its place', async () => {
      const folder = temporaryFolder();
      const agent = startAgent(folder, '--run', 'answer', '--command', 'touch ran');
      await decide('answer', { type: 'answer', output: 'done by hand' });
      expect(await agent.result()).toMatchObject({
        status: 'succeeded',
        text: expect.stringMatching(/^done by hand\n/),
      });
      expect(existsSync(join(folder, 'ran'))).toBe(false);
    });

    it('does not wait longer than it was told to', async () => {
      const agent = startAgent(temporaryFolder(), '--run', 'wait', '--wait', '0');
      await agent.ended;
      expect(agent.errors()).toMatch(/call_2 did not run: approval apr_\S+ is pending/);
    });

    it.each([
      [
        'a token that no request can have',
        { COUNTERSIGN_TOKEN: 'secret\nx' },
        /^token: .*Copy it again.*\n.*COUNTERSIGN_TOKEN/,
      ],
      [
        'a resolver token that no request can have',
        { COUNTERSIGN_RESOLVER_TOKEN: 'sécret' },
        /^resolver_token: .*Copy it again.*\n.*COUNTERSIGN_RESOLVER_TOKEN/,
      ],
      ['an address without http://', { COUNTERSIGN_URL: '127.0.0.1:7400' }, /^url: .*http:\/\/.*\n.*COUNTERSIGN_URL/],
      [
        'a missing tokens file',
        { COUNTERSIGN_DATA: '/nowhere' },
        /^COUNTERSIGN_TOKEN is not set, and \/nowhere\/tokens\.json/,
      ],
    ])('ends at once with the remedy for %s', async (_, env, words) => {
      const startedAt = performance.now();
      const agent = startAgentWith(env, temporaryFolder(), '--run', 'unusable');
      await agent.ended;
      // The retries of a server that is away take 20 s and more.
      expect(performance.now() - startedAt).toBeLessThan(15_000);
      expect(agent.errors()).toMatch(words);
      expect(agent.errors()).not.toMatch(/cret|Traceback/);
    });

    it('names the variable of the resolver when both tokens are those of the agent', async () => {
      const env = { COUNTERSIGN_TOKEN: countersign.tokens.agent, COUNTERSIGN_RESOLVER_TOKEN: countersign.tokens.agent };
      const agent = startAgentWith(env, temporaryFolder(), '--run', 'forbidden');
      await agent.ended;
      expect(agent.errors()).toMatch(/role resolver[^]*COUNTERSIGN_RESOLVER_TOKEN to one of role resolver/);
    });

    it('does not run a command again after a kill inside it: the outcome is not known', async () => {
      const folder = temporaryFolder();
      const command = 'echo began >> log; sleep 3';
      const args = ['--run', 'kill', '--lease', '1', '--command', command];
      const first = startAgent(folder, ...args);
      await decide('kill', { type: 'approve' });
      await eventually('the command', () => (existsSync(join(folder, 'log')) ? true : undefined));
      first.kill();
      await first.ended;
      const second = startAgent(folder, ...args);
      expect(await second.result()).toMatchObject({ status: 'unknown', text: expect.stringContaining('not known') });
      expect(readFileSync(join(folder, 'log'), 'utf8')).toBe('began\n');
    });
  });
} else {
  it('is not tried in Python, which is not installed here', () => undefined);
}
