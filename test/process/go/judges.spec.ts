import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { formatTilePath, parseCheckpoint, parseNote, widthAt } from '@countersign/audit';
import { expect, it } from '@jest/globals';
import { buildJudges, describeWithGo } from '../../go-examples.ts';
import { runCli } from '../cli/run-cli.js';
import { cleanUpAfterEach } from '../harness/cleanup.js';
import { install } from '../harness/standalone.js';
import type { Installation } from '../harness/standalone.js';
import { requestOne } from '../traffic/scene.js';

cleanUpAfterEach();

/** Tessera's own check of a log. On a log that is wrong it reads again without end. */
function fsck(folder: string, url: string, token: string | undefined, timeoutMs: number) {
  const options = [`--storage_url=${url}`, `--public_key=${join(folder, 'key.txt')}`, '--ui=false'];
  const bearer = token === undefined ? [] : [`--bearer_token=${token}`];
  const { status, stderr } = spawnSync(join(folder, 'fsck'), [...options, ...bearer], {
    encoding: 'utf8',
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
  return { status, isSound: status === 0 && stderr.includes("Successfully fsck'd log"), stderr };
}

/** A copy of all tiles, as a mirror keeps them. */
async function mirror({ folder, port }: Installation, token: string): Promise<readonly string[]> {
  const get = async (path: string): Promise<Buffer> => {
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(`http://127.0.0.1:${String(port)}/v1/log/${path}`, { headers });
    expect([path, response.status]).toEqual([path, 200]);
    return Buffer.from(await response.arrayBuffer());
  };
  const note = await get('checkpoint');
  const { size } = parseCheckpoint(parseNote(note.toString())!.text)!;
  const paths = ['checkpoint'];
  for (const level of [0, 1, 'entries'] as const) {
    for (let index = 0; ; index += 1) {
      const width = widthAt(size, level === 'entries' ? 0 : level, index);
      if (width === 0) break;
      paths.push(formatTilePath({ level, index, width }));
    }
  }
  for (const path of paths) {
    const file = join(folder, 'tiles', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, path === 'checkpoint' ? note : await get(path));
  }
  return paths;
}

describeWithGo(() => {
  it('programs of others prove the log and a call, and find each change, as ours do', async () => {
    const installed = await install();
    const { folder, stage, port, tokens } = installed;
    buildJudges(folder);
    const { callId } = await requestOne(stage, { needsApproval: true });
    // More events than one tile has.
    for (let nth = 0; nth < 130; nth += 1) await requestOne(stage);
    const keys = (await runCli(installed, ['audit', 'keys'])).out;
    writeFileSync(join(folder, 'key.txt'), keys);
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
    const verify = async () => (await runCli(installed, ['audit', 'verify', 'tiles', '--vkey', 'key.txt'])).code;
    const mirrored = `file://${join(folder, 'tiles')}/`;
    expect([await verify(), fsck(folder, mirrored, undefined, 150_000).isSound]).toEqual([0, true]);
    for (const path of ['checkpoint', 'tile/0/000', 'tile/entries/000', paths.find((one) => one.includes('001.p'))!]) {
      const file = join(folder, 'tiles', path);
      const honest = readFileSync(file);
      const changed = Buffer.from(honest);
      const at = Math.floor(changed.length / 2);
      changed[at] = (changed[at] ?? 0) ^ 1;
      writeFileSync(file, changed);
      expect([path, fsck(folder, mirrored, undefined, 2_000).isSound]).toEqual([path, false]);
      expect([path, [1, 2].includes((await verify()) ?? 0)]).toEqual([path, true]);
      writeFileSync(file, honest);
    }
    expect(await verify()).toBe(0);
  }, 900_000);
});
