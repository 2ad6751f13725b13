import { spawnSync } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatVkey, keyTypes, parseCheckpoint, parseNote, verifierKey } from '@countersign/audit';
import { createSimulatedEventStore, createSimulatedLog, sampleEvent } from '@countersign/event-store/testing';
import type { SimulatedLog } from '@countersign/event-store/testing';
import { openNotary, readWitnesses } from '@countersign/notary';
import type { OpenNotary } from '@countersign/notary';
import { systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { expect, it } from '@jest/globals';
import { buildJudges, describeWithGo } from '../../go-examples.ts';
import { runCli } from '../cli/run-cli.js';
import { cleanUpAfterEach, onCleanup, temporaryFolder } from '../harness/cleanup.js';
import { install } from '../harness/standalone.js';
import { eventually } from '../harness/wait.js';
import { requestOne } from '../traffic/scene.js';
import { startOmniwitness } from './omniwitness.js';
import { installAicsTlog } from './tile-judges.js';

cleanUpAfterEach();

/** A key of the same name that has cosigned nothing. */
const stranger = formatVkey(verifierKey('witness.example', keyTypes.cosignature, randomBytes(32)));

const sizeOf = (note: string): number => parseCheckpoint(parseNote(note)?.text ?? '')?.size ?? 0;

async function record(log: SimulatedLog, count: number): Promise<void> {
  const store = createSimulatedEventStore({ clock: systemClock, log });
  for (let n = 0; n < count; n += 1) {
    const event = sampleEvent();
    const owned = { ...event, metadata: { ...event.metadata, tenant: 'acme' } };
    await store.append(`toolCall-${event.eventId}`, -1, [owned]);
  }
}

describeWithGo(() => {
  it('a witness of others cosigns our checkpoints for every judge, and names a log that was put back', async () => {
    const installed = await install();
    const { folder, dataFolder, stage, server, http, tokens, restart, startAnyhow } = installed;
    buildJudges(folder, 'countersign-judges', 'omniwitness');
    const aics = await installAicsTlog(folder);
    const { callId } = await requestOne(stage, { needsApproval: true });
    const [vkey = '', mlDsa = ''] = (await runCli(installed, ['audit', 'keys', '--all'])).out.split('\n');
    writeFileSync(join(folder, 'key.txt'), vkey);
    const witness = await startOmniwitness(folder, [vkey, mlDsa]);
    const [ed25519 = ''] = witness.vkeys;
    writeFileSync(join(folder, 'trusted'), `log ${vkey}\n${readFileSync(witness.policy, 'utf8')}`);
    await server().stop();
    await restart(witness.env);
    const cosigned = (events: number): Promise<string> =>
      eventually('a checkpoint with the cosignature', async () => {
        const { status, text } = await http.send({ method: 'GET', path: '/v1/log/checkpoint', token: tokens.me });
        return status === 200 && sizeOf(text) > events ? text : undefined;
      });
    const first = await cosigned(0);
    await requestOne(stage, { needsApproval: true });
    await runCli(installed, ['audit', 'checkpoint', '--now']);
    const second = await cosigned(sizeOf(first));
    writeFileSync(join(folder, 'cosigned.txt'), second);

    const verified = await runCli(installed, ['audit', 'verify', '--policy', 'trusted']);
    expect([verified.code, verified.out, verified.err]).toEqual([0, expect.stringContaining('Proven: '), '']);
    await runCli(installed, ['audit', 'prove', callId, '-o', 'proof.json']);
    expect(await runCli(installed, ['audit', 'verify', 'proof.json', '--policy', 'trusted'])).toMatchObject({
      code: 0,
    });
    const judge = (by: string) =>
      spawnSync(join(folder, 'countersign-judges'), ['key.txt', 'proof.json', by], { cwd: folder }).status;
    expect([judge(ed25519), judge(stranger)]).toEqual([0, 1]);
    const quorum = (by: string) =>
      aics?.('verify-checkpoint', '--note', 'cosigned.txt', '--witness-key', by, '--quorum', '1')['ok'];
    if (aics !== undefined) expect([quorum(ed25519), quorum(stranger)]).toEqual([true, false]);

    await server().stop();
    cpSync(dataFolder, join(folder, 'older'), { recursive: true });
    await restart(witness.env);
    await requestOne(stage, { needsApproval: true });
    // Beyond what is put back: the last checkpoint of the stop may be cosigned only now.
    const newest = (await runCli(installed, ['audit', 'checkpoint', '--now'])).out;
    const third = await cosigned(sizeOf(newest) - 1);
    await server().stop();
    rmSync(dataFolder, { recursive: true });
    cpSync(join(folder, 'older'), dataFolder, { recursive: true });
    startAnyhow(witness.env);
    const why = await eventually('the log to be contradicted', async () => {
      const answer = await http.send({ method: 'GET', path: '/readyz' }).catch(() => undefined);
      return answer?.text.includes('log-rewound: the witness outside') === true ? answer.text : undefined;
    });
    expect(why).toContain('it has seen ');
    expect(Number(/it has seen (\d+) events/.exec(why)?.[1])).toBeGreaterThanOrEqual(sizeOf(third));
    const refused = await http.send({ method: 'POST', path: '/v1/log/checkpoint', token: tokens.me });
    expect([refused.status, refused.text]).toEqual([503, expect.stringContaining('log-rewound')]);
  }, 900_000);

  it('a witness of others refuses a shorter log, one with another root, and one that grew from another root', async () => {
    const folder = temporaryFolder();
    buildJudges(folder, 'omniwitness');
    const start = (log: SimulatedLog, witnesses: string | undefined): OpenNotary => {
      const notary = openNotary({
        ...{ folder: temporaryFolder(), logKeyFile: join(folder, 'log.key'), logSigner: null, sinks: [] },
        ...{
          store: createSimulatedEventStore({ clock: systemClock, log }),
          clock: systemClock,
          log: createSilentLog(),
        },
        ...{ origin: 'countersign.example', acceptsContradiction: false },
        witnesses: witnesses === undefined ? null : readWitnesses(witnesses, true),
      });
      onCleanup(notary.stop);
      return notary;
    };
    const honest = createSimulatedLog();
    await record(honest, 5);
    const key = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' });
    writeFileSync(join(folder, 'log.key'), key, { mode: 0o600 });
    const alone = start(honest, undefined);
    await alone.sign('acme');
    const { policy } = await startOmniwitness(folder, await alone.vkeys('acme'));
    const witnessed = start(honest, policy);
    await witnessed.sign('acme');
    await eventually('the cosignature', () => Promise.resolve(witnessed.newest('acme')));
    const found: (string | undefined)[] = [];
    for (const count of [3, 5, 7]) {
      const log = createSimulatedLog();
      await record(log, count);
      const forged = start(log, policy);
      await forged.sign('acme');
      await eventually('the contradiction', () => Promise.resolve(forged.whyReadOnly()));
      found.push(forged.rewound('acme')?.why);
    }
    expect(found).toEqual([
      expect.stringContaining('it has seen 5 events, and the log has 3 signed'),
      expect.stringContaining('it has seen another root of 5 events'),
      expect.stringContaining('it refuses the proof from 5 to 7 events'),
    ]);
  }, 900_000);
});
