import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatVkey, parseNote } from '@countersign/audit';
import { openWitness } from '@countersign/notary/testing';
import { expect, test } from '@jest/globals';
import { runCli } from './cli/run-cli.js';
import { cleanUpAfterEach, onCleanup } from './harness/cleanup.js';
import { install } from './harness/standalone.js';
import { eventually } from './harness/wait.js';
import { requestOne } from './traffic/scene.js';

cleanUpAfterEach();

test('a cosignature that was lost by a kill is asked for again, and an auditor verifies the quorum', async () => {
  const witness = await openWitness('witness.example');
  onCleanup(witness.close);
  const installed = await install();
  const { folder, stage, restart, startAnyhow, server, tokens } = installed;
  await requestOne(stage, { needsApproval: true });
  const audit = (...args: readonly string[]) =>
    runCli({ ...installed, env: { COUNTERSIGN_TOKEN: tokens.me } }, ['audit', ...args]);
  const [vkey = ''] = (await audit('keys')).out.split('\n');
  await server().stop();
  const own = `witness w ${formatVkey(witness.key)} ${witness.url}\nquorum w\n`;
  writeFileSync(join(folder, 'witnesses'), own);
  writeFileSync(join(folder, 'policy'), `log ${vkey}\n${own}`);
  const env = { COUNTERSIGN_WITNESSES: join(folder, 'witnesses'), COUNTERSIGN_WITNESS_PRIVATE: 'true' };
  const crashing = startAnyhow({ ...env, COUNTERSIGN_CRASH_AT: 'notary.cosigned' });
  expect(await crashing.exited).toEqual({ code: null, signal: 'SIGKILL' });
  // The witness has seen the checkpoint of which the log has no cosignature.
  const { asked } = witness;
  expect(asked).toBeGreaterThan(0);
  await restart(env);
  const note = await eventually('a cosigned checkpoint', async () => {
    const { code, out } = await audit('checkpoint');
    return code === 0 ? parseNote(out) : undefined;
  });
  expect(note.signatures.map(({ name }) => name)).toContain('witness.example');
  expect(witness.asked).toBeGreaterThan(asked);
  await server().stop();
  expect(await audit('verify', 'data', '--policy', 'policy')).toMatchObject({ code: 0, err: '' });
}, 120_000);
