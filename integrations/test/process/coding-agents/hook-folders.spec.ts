import { beforeAll, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient, type Client } from '@countersign/worker-sdk';
import { cleanUpAfterAll, temporaryFolder } from '../../../../test/process/harness/cleanup.js';
import { install, type Installation } from '../../../../test/process/harness/standalone.js';
import { configurations, environmentOf, runHook } from './configurations.js';

cleanUpAfterAll();

const policy = `version: 1
default: require
rules:
  - id: production
    when: '"cwd" in call.labels && call.labels.cwd.startsWith("/work/production")'
    then: { block: 'Agents do not work in production' }
`;

let place: Installation;
let ledger: Client;
let env: Record<string, string>;
beforeAll(async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'policy.yaml');
  writeFileSync(file, policy);
  place = await install({ COUNTERSIGN_POLICY: file }, folder);
  ledger = createClient({ url: `http://127.0.0.1:${place.port}`, token: place.tokens.me });
  env = environmentOf(place.port, place.dataFolder);
});

const deny = /"(decision|permission|permissionDecision)":"deny"/;

describe.each(configurations)('the approval of a call of $name in one folder', ({ name, before, input }) => {
  const inFolder = (cwd: string, id: string): object => ({
    ...input(`${name}-folders`, './deploy.sh'),
    cwd,
    ...('tool_use_id' in input('', '') ? { tool_use_id: id } : {}),
  });
  const run = (cwd: string, id: string) => runHook(`${before} --hold 0`, inFolder(cwd, id), env);

  it('does not let an equal call run in another folder, which the policy judges by itself', async () => {
    await run('/work/staging', 'one');
    const { approvals } = await ledger.listApprovals({ state: 'pending', runId: `${name}-folders` });
    expect(approvals).toMatchObject([{ labels: { cwd: '/work/staging' } }]);
    for (const { approvalId, proposal } of approvals)
      await ledger.respond(approvalId, { decision: { type: 'approve' }, proposalDigest: proposal.digest });

    const elsewhere = await run('/work/production', 'two');
    expect(elsewhere.out).toMatch(deny);
    expect(elsewhere.out).toContain('Agents do not work in production');
    expect((await run('/work/other', 'three')).out).toContain('pending: approval apr_');
    expect((await run('/work/staging', 'four')).out).not.toMatch(deny);
  });

  it('does not reach a folder whose path is too long to be recorded', async () => {
    const long = await run(`/work/production/${'a/'.repeat(256)}`, 'five');
    expect(long.out).toMatch(deny);
    expect(long.err).toContain('more than 512 characters');
  });
});
