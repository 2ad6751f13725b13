import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { scenarios, tryScenario } from '@countersign/conformance';
import type { Decision } from '@countersign/contracts';
import { createClient } from '@countersign/worker-sdk';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hasPython, installMsMax, installPython, pythonOf } from '../../../test/python-environment.ts';
import { eventually } from '../../../test/process/harness/wait.ts';
import { agents, nestedInAgentFramework } from './agents.ts';
import { scenariosOfAdapter, stayingAgent, trySuite } from './kit-suite.ts';

// Each start of the agent imports the framework, which takes a second or more on a busy machine.

const folder = join(import.meta.dirname, '..', '..', 'adapters', 'agent-framework');
const environment = 'agent-framework';
const testsAtLeast = 51;
const file = join(folder, 'conformance', 'agent.py');
const agent = stayingAgent('agent_host.py', pythonOf(environment), file, agents['Agent Framework']);
const readme = readFileSync(join(folder, 'README.md'), 'utf8');

it('the README shows the code of the example', () => {
  const [, code = ''] = /^```py\n[^]*?^(@tool[^]*?)^```/m.exec(readme) ?? [];
  const example = readFileSync(join(folder, 'examples', 'refund.py'), 'utf8');
  expect(example.replaceAll('\n\n\n', '\n\n')).toContain(code);
  expect(code).toContain('async def converse(');
});

if (hasPython) {
  beforeAll(async () => {
    await installPython(environment, join(folder, 'requirements.txt'));
  }, installMsMax);

  const server = trySuite('an agent of Microsoft Agent Framework', agent, scenariosOfAdapter(agent));

  it.each(scenarios.filter(({ needs }) => needs === 'nested'))('$name, which waits in its process', (scenario) =>
    tryScenario(scenario, { ...agent, capabilities: nestedInAgentFramework }, server()),
  );

  it('the adapter passes its own tests in the real framework', async () => {
    const { url, agentToken, workerToken, approverToken } = server();
    const env = {
      PATH: process.env['PATH'],
      PYTHONDONTWRITEBYTECODE: '1',
      COUNTERSIGN_URL: url,
      COUNTERSIGN_TOKENS: JSON.stringify({ agentToken, workerToken, approverToken }),
    };
    const test = join(folder, 'tests', 'test_gated_run.py');
    // A failure rejects with everything that the tests printed.
    const { stderr } = await promisify(execFile)(pythonOf(environment), [test], { env });
    const [, count] = /^Ran (\d+) tests in .*\n\nOK$/m.exec(stderr) ?? [];
    expect(Number(count)).toBeGreaterThanOrEqual(testsAtLeast);
  });

  describe('the example that is run as the README says', () => {
    // A clone in which the first two commands have run.
    const clone = mkdtempSync(join(tmpdir(), 'countersign-refund-'));
    const [, block = ''] = /^## Run an example\n[^]*?^```sh\n([^]*?)^```/m.exec(readme) ?? [];
    const [create, install, start = '', ...more] = block.trim().split('\n');
    const [program = '', ...args] = start.split(' ');
    beforeAll(() => {
      symlinkSync(join(folder, '..', '..'), join(clone, 'integrations'));
      symlinkSync(dirname(dirname(pythonOf(environment))), join(clone, '.venv'));
      mkdirSync(join(clone, 'data'));
      const { agentToken, workerToken } = server();
      const tokens = Object.entries({ agent: agentToken, worker: workerToken });
      const entries = tokens.map(([principal, token]) => ({ principal, token }));
      writeFileSync(join(clone, 'data', 'tokens.json'), JSON.stringify(entries));
    });
    afterAll(() => rmSync(clone, { recursive: true, force: true }));

    const refund = (env: Readonly<Record<string, string>> = {}) =>
      promisify(execFile)(program, args, {
        cwd: clone,
        env: { PATH: process.env['PATH'], PYTHONDONTWRITEBYTECODE: '1', COUNTERSIGN_URL: server().url, ...env },
      });
    /** Decides as soon as the program says where. */
    const refundDecided = async (decision: Decision) => {
      const { url, approverToken } = server();
      const approver = createClient({ url, token: approverToken });
      const running = refund();
      let said = '';
      running.child.stderr?.on('data', (text: Buffer) => (said += text.toString()));
      const decide = async () => {
        const line = new RegExp(`^refund waits for a person: ${url}/approvals/(\\w+)\n$`);
        const approvalId = await eventually('the address', () => line.exec(said)?.[1]);
        await approver.respond(approvalId, { decision });
      };
      const [{ stdout, stderr }] = await Promise.all([running, decide()]);
      expect(stderr).toBe(said);
      return stdout;
    };

    it('is installed as this spec installs it', () => {
      expect([create, install, more]).toEqual([
        'python3 -m venv .venv',
        '.venv/bin/pip install -r integrations/adapters/agent-framework/requirements.txt',
        [],
      ]);
    });

    it('prints the recorded result of an approved refund, and asks again when it runs again', async () => {
      const result = 'The result of the refund: {"refunded": 50}\n';
      expect(readme).toContain(`\`${result.trim()}\``);
      expect(await refundDecided({ type: 'approve' })).toBe(result);
      expect(await refundDecided({ type: 'approve' })).toBe(result);
    });

    it('prints that a person denied it', async () => {
      const printed = await refundDecided({ type: 'deny' });
      expect(printed).toMatch(/^The result of the refund: Error: .* rejected by user\.\nThe call was denied by /);
      expect(printed).not.toContain('refunded');
    });

    it.each([
      ['a wrong token', { COUNTERSIGN_TOKEN: 'cs_wrong' }, /^unauthenticated: /],
      ['a wrong token of the resolver', { COUNTERSIGN_RESOLVER_TOKEN: 'cs_wrong' }, /^unauthenticated: /],
      ['a token that no request can have', { COUNTERSIGN_TOKEN: 'secret\n' }, /^token: .*Copy it again/],
      ['a missing tokens file', { COUNTERSIGN_DATA: '/nowhere' }, /no token of agent/],
      ['a server that is away', { COUNTERSIGN_URL: 'http://127.0.0.1:1' }, /^unreachable: /],
    ])('ends at once with the remedy for %s', async (_, env, words) => {
      const startedAt = performance.now();
      const ended = await refund(env).catch((error: unknown) => error as { code: number; stderr: string });
      // The retries of a server that is away take 20 s and more.
      expect(performance.now() - startedAt).toBeLessThan(15_000);
      expect(ended).toMatchObject({ code: 1, stderr: expect.stringMatching(words) });
      expect(ended.stderr).toMatch(/set COUNTERSIGN_DATA to the data folder/);
      expect(ended.stderr).not.toMatch(/cret|Traceback/);
    });
  });
} else {
  it('is not tried with Microsoft Agent Framework: Python is not installed here', () => undefined);
}
