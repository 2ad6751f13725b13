import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from '@jest/globals';
import { hasPython, installMsMax, installPython, pythonOf } from '../../../test/python-environment.ts';
import { agents } from './agents.ts';
import { stayingAgent, trySuite } from './kit-suite.ts';

const folder = join(import.meta.dirname, '..', '..', 'adapters', 'python');
const environment = 'client';

if (hasPython) {
  beforeAll(async () => {
    await installPython(environment, 'integrations/examples/python/requirements.txt');
  }, installMsMax);

  const agent = join(folder, 'conformance', 'agent.py');
  trySuite(
    'an agent in Python without a framework',
    stayingAgent('agent_host.py', pythonOf(environment), agent, agents['own loop']),
  );

  it.each([
    ['a claim of anything but what was approved is refused', 'test_claim.py', 10],
    ['an address, a token or a compressed answer that cannot be used is refused', 'test_client.py', 6],
    ['a resolver token that may not claim is refused before a person is asked', 'test_proof.py', 5],
    ['a hostile server does no harm, and a report reaches the ledger through a proxy', 'test_hostile.py', 9],
    [
      'code allows a call, asks people, or denies it, also after an edit, and a tool may raise anything',
      'test_decide.py',
      15,
    ],
    ['a call that was allowed without the approval that its worker needs waits for people', 'test_unasked.py', 3],
  ])('%s', async (_, file, count) => {
    // A failure rejects with everything that the tests printed.
    const { stderr } = await promisify(execFile)(pythonOf(environment), [join(folder, 'tests', file)]);
    expect(stderr).toMatch(new RegExp(`^Ran ${String(count)} tests in .*\\n\\nOK$`, 'm'));
  });
} else {
  it('is not tried in Python, which is not installed here', () => undefined);
}
