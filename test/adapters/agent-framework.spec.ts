import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { scenarios, tryScenario } from '@countersign/conformance';
import { beforeAll, expect, it, jest } from '@jest/globals';
import { hasPython, installPython, pythonOf } from '../python-environment.ts';
import { agents, nestedInAgentFramework } from './agents.ts';
import { trySuite } from './kit-suite.ts';

// Each start of the agent imports the framework, which takes a second or more on a busy machine.
jest.setTimeout(60_000);

const folder = join(import.meta.dirname, '..', '..', 'libs', 'adapters', 'agent-framework');
const environment = 'agent-framework';
const testsAtLeast = 32;
const agent = {
  command: pythonOf(environment),
  args: [join(folder, 'conformance', 'agent.py')],
  capabilities: agents['Agent Framework'],
};

if (hasPython) {
  beforeAll(async () => {
    await installPython(environment, join(folder, 'requirements.txt'));
  }, 180_000);

  const server = trySuite('an agent of Microsoft Agent Framework', agent);

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
} else {
  it('is not tried with Microsoft Agent Framework: Python is not installed here', () => undefined);
}
