import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it, jest } from '@jest/globals';
import { hasPython, installPython, pythonOf } from '../python-environment.ts';
import { pythonKitSuite } from './python-kit-suite.ts';

// Each start of the agent imports the framework, which takes a second or more on a busy machine.
jest.setTimeout(60_000);

const folder = join(import.meta.dirname, '..', '..', 'libs', 'adapters', 'agent-framework');
const environment = 'agent-framework';
const testsAtLeast = 27;
/** The framework continues a step when all its calls are decided. */
const asAWhole = { partial: false };

if (hasPython) {
  beforeAll(async () => {
    await installPython(environment, join(folder, 'requirements.txt'));
  }, 180_000);

  const server = pythonKitSuite('an agent of Microsoft Agent Framework', {
    command: pythonOf(environment),
    args: [join(folder, 'conformance', 'agent.py')],
    capabilities: { pauses: true, streaming: true, nested: false, forge: true, ...asAWhole },
  });

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
