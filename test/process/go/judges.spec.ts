import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { buildJudges, describeWithGo } from '../../go-examples.ts';
import { runCli } from '../cli/run-cli.js';
import { cleanUpAfterEach } from '../harness/cleanup.js';
import { install } from '../harness/standalone.js';
import { requestOne } from '../traffic/scene.js';
import { changeBit, fsck, installAicsTlog, mirror } from './tile-judges.js';

cleanUpAfterEach();

describeWithGo(() => {
  it('programs of others prove the log and a call, and find each change, as ours do', async () => {
    const installed = await install();
    const { folder, stage, port, tokens } = installed;
    buildJudges(folder, 'countersign-judges', 'fsck');
    const aics = await installAicsTlog(folder);
    const { callId } = await requestOne(stage, { needsApproval: true });
    // These programs skip the signature of the ML-DSA-44 key.
    writeFileSync(join(folder, 'key.txt'), (await runCli(installed, ['audit', 'keys'])).out);
    writeFileSync(join(folder, 'keys.txt'), (await runCli(installed, ['audit', 'keys', '--all'])).out);
    writeFileSync(join(folder, 'kept.txt'), (await runCli(installed, ['audit', 'checkpoint', '--now'])).out);
    // More events than one tile has.
    for (let nth = 0; nth < 130; nth += 1) await requestOne(stage);
    await runCli(installed, ['audit', 'checkpoint', '--now']);

    const served = fsck(folder, `http://127.0.0.1:${String(port)}/v1/log/`, tokens.me, 150_000);
    expect(served).toMatchObject({ isSound: true });

    await runCli(installed, ['audit', 'prove', callId, '-o', 'proof.json']);
    const judge = () => spawnSync(join(folder, 'countersign-judges'), ['key.txt', 'proof.json'], { cwd: folder });
    expect(judge()).toMatchObject({ status: 0 });
    const proof = readFileSync(join(folder, 'proof.json'), 'utf8');
    writeFileSync(join(folder, 'proof.json'), proof.replace('ToolCallRequested', 'ToolCallRequesteD'));
    expect(judge()).toMatchObject({ status: 1 });
    expect(await runCli(installed, ['audit', 'verify', 'proof.json', '--vkey', 'key.txt'])).toMatchObject({ code: 1 });

    const paths = await mirror(installed, tokens.me);
    expect(paths.length).toBeGreaterThanOrEqual(6);
    const verify = async () => (await runCli(installed, ['audit', 'verify', 'tiles', '--vkey', 'keys.txt'])).code;
    // 2 where the changed bit leaves a text that is no checkpoint.
    const isRefused = async () => [1, 2].includes((await verify()) ?? 0);
    const mirrored = `file://${join(folder, 'tiles')}/`;
    const isIncluded = (index: number) =>
      aics?.('verify-inclusion', '--tiles', 'tiles', '--index', String(index))['ok'];
    // One event in each tile of leaves.
    const areIncluded = () => aics === undefined || [0, 256].every(isIncluded);
    expect([await verify(), fsck(folder, mirrored, undefined, 150_000).isSound, areIncluded()]).toEqual([
      ...[0, true, true],
    ]);
    const continued = aics?.('verify-consistency', '--tiles', 'tiles', '--old-checkpoint', 'kept.txt');
    expect(continued ?? { ok: true }).toMatchObject({ ok: true });
    for (const path of ['checkpoint', 'tile/0/000', 'tile/entries/000', paths.find((one) => one.includes('001.p'))!]) {
      // Most of a checkpoint is its ML-DSA-44 signature, which these programs do not know.
      const undo = changeBit(join(folder, 'tiles', path), path === 'checkpoint' ? 0.01 : 0.5);
      expect([path, fsck(folder, mirrored, undefined, 2_000).isSound]).toEqual([path, false]);
      if (aics !== undefined) expect([path, areIncluded()]).toEqual([path, false]);
      expect([path, await isRefused()]).toEqual([path, true]);
      undo();
    }
    expect([await verify(), areIncluded()]).toEqual([0, true]);
    changeBit(join(folder, 'tiles', 'checkpoint'));
    expect(await isRefused()).toBe(true);
  }, 900_000);
});
