import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it, jest } from '@jest/globals';
import { document } from '../clients/generated.ts';
import { journeys } from '../clients/journeys.ts';
import { recordCalls, startForOperations } from '../clients/recorded.ts';
import { run } from '../clients/tools.ts';
import { compilesWhenRead, hasPython, installPython } from '../python-environment.ts';
import { cleanUpAfterAll, temporaryFolder } from './harness/cleanup.js';

jest.setTimeout(900_000);
cleanUpAfterAll();

/** The examples each time, and in the nightly form what schemathesis makes of the schemas. */
const phases = process.env['COUNTERSIGN_TEST_NIGHTLY'] === '1' ? 'examples,coverage,fuzzing' : 'examples';

/** Operations that have no success in a run, with the reason. */
const withoutSuccess: Readonly<Record<string, string>> = {
  readTimestamp: 'no authority stamps this log: audit-guide.spec.ts has one',
  readKeyChanges: 'the key of the log has not changed: log-key-rotation.spec.ts changes it',
  readKeyChangesOf: 'the same, of a tenant that is named',
};

function operationIds(): readonly string[] {
  const { paths } = JSON.parse(readFileSync(document, 'utf8')) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
  };
  return Object.values(paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId));
}

// CI installs Python. Elsewhere the totals name this test as skipped.
(hasPython ? it : it.skip)(
  'each operation succeeds, and schemathesis finds no answer that the document lacks',
  async () => {
    const python = await installPython('schemathesis', 'test/clients/requirements-schemathesis.txt', compilesWhenRead);
    const server = await startForOperations();
    const { agent, me, worker } = server.tokens;
    const succeeded = join(temporaryFolder(), 'succeeded');
    const env = {
      ...{ AGENT_TOKEN: agent, PERSON_TOKEN: me, WORKER_TOKEN: worker, PYTHONDONTWRITEBYTECODE: '1' },
      SCHEMATHESIS_HOOKS: join(journeys, 'schemathesis_rules.py'),
      COUNTERSIGN_RECORDED: JSON.stringify(await recordCalls(server)),
      COUNTERSIGN_SUCCEEDED: succeeded,
    };
    const config = ['--config-file', join(journeys, 'schemathesis.toml')];
    const chosen = ['--url', `http://127.0.0.1:${String(server.port)}`, '--phases', phases];
    const often = ['--max-examples', '20', '--seed', '1', '--continue-on-failure'];
    // It ends with an error for each finding.
    await run(
      temporaryFolder(),
      env,
      join(dirname(python), 'schemathesis'),
      ...config,
      'run',
      document,
      ...chosen,
      ...often,
    );
    const done = new Set(readFileSync(succeeded, 'utf8').split('\n'));
    expect(operationIds().filter((id) => !done.has(id))).toEqual(Object.keys(withoutSuccess));
  },
);
