import { cpSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { cleanUpAfterEach, temporaryFolder } from '../harness/cleanup.js';
import { freePort } from '../../ports.js';
import { startServer } from '../harness/server.js';
import { openKeeper } from './keeper-process.js';
import { openStoreServer, startRole, storeUrl, writeTokens } from './roles.js';
import { erase, erased, inArgument, inOutput, placesOf, playSecrets, viewOn } from './secrets.js';

cleanUpAfterEach();

// Written by the last version whose processes shared a folder of keys: the log, that folder, and the read model of a
// gateway. The call "gone" was erased, then the call "kept" of the same subject was made.
const written = join(import.meta.dirname, 'shared-folder');

/** A copy of one of its folders. */
function copyOf(name: string): string {
  const folder = temporaryFolder();
  cpSync(join(written, name), folder, { recursive: true });
  return folder;
}

const kept = { state: 'succeeded', arguments: { password: inArgument }, output: { apiKey: inOutput } };

test('a keeper on the folder that processes shared lends its keys: values read as before, and erased ones stay erased', async () => {
  const [storeFolder, keysFolder, data] = ['store', 'keys', 'data'].map(copyOf) as [string, string, string];
  const { port } = await openStoreServer(undefined, storeFolder);
  const { borrowing, folders } = await openKeeper(storeUrl(port), { keysFolder });
  const env = { COUNTERSIGN_EVENTSTORE_URL: storeUrl(port), COUNTERSIGN_TOKENS_FILE: writeTokens(), ...borrowing };
  const start = async () => {
    const more = { COUNTERSIGN_DATA: data };
    const gateway = startServer({
      folder: data,
      port: await freePort(),
      args: ['start', 'gateway'],
      env: { ...env, ...more },
    });
    await gateway.ready();
    return gateway;
  };
  const a = await start();
  expect(await viewOn(a, 'kept')).toMatchObject(kept);
  expect(await viewOn(a, 'gone')).toMatchObject(erased);
  const file = (name: string): string => join(keysFolder, name);
  expect(['keys.db', 'root.key'].map((name) => statSync(file(name)).mode & 0o777)).toEqual([0o600, 0o600]);
  expect(readFileSync(file('root.key'), 'utf8')).toBe(readFileSync(join(written, 'keys', 'root.key'), 'utf8'));

  const world = { a, b: a, start, folders: [storeFolder, data, ...folders] };
  await playSecrets(world, 'later');
  expect(placesOf(world)).toEqual([]);
  expect((await erase(a)).body).toMatchObject({ status: 'erased', calls: 2, values: 4 });
  expect(await a.stop()).toEqual({ code: 0, signal: null });
  const again = await start();
  for (const call of ['kept', 'gone', 'later']) expect(await viewOn(again, call)).toMatchObject(erased);
});

test('a process that still has the folder of the keys refuses to start, names the remedy, and records nothing', async () => {
  const [storeFolder, keysFolder] = ['store', 'keys'].map(copyOf) as [string, string];
  const { port } = await openStoreServer(undefined, storeFolder);
  const env = { COUNTERSIGN_EVENTSTORE_URL: storeUrl(port), COUNTERSIGN_TOKENS_FILE: writeTokens() };
  const { exited, output } = await startRole('gateway', { ...env, COUNTERSIGN_KEYS_FOLDER: keysFolder });
  expect(await exited).toEqual({ code: 1, signal: null });
  expect(output()).toContain(
    'COUNTERSIGN_KEYS_FOLDER: is for the keeper alone, because processes share no folder of keys: start the role keeper with it, unset it here, and set COUNTERSIGN_KEEPER_URL (docs/privacy.md)',
  );
});
