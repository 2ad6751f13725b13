import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createCliRun, type CliRun } from '@countersign/cli/testing';
import { createWriteSide, requestToolCalls } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import { openReadModel } from '@countersign/read-model';
import type { ReadModel } from '@countersign/read-model';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { createCollectingLog } from '@countersign/runtime/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { TestServer } from '../../eventstoredb-server/server.ts';
import { cleanUpAfterEach, openReadyStore, startServer } from '../eventstoredb/harness.js';
import type { OpenedStore } from '../eventstoredb/harness.js';

cleanUpAfterEach();

const agent: Actor = {
  ...{ tenant: 'default', principal: 'agent', roles: new Set(['agent'] as const), groups: [], agentIds: [] },
  ...{ via: 'api', assurance: 'low' },
};

describe('countersign projector, in a cluster', () => {
  let folder: string;
  let server: TestServer;
  let store: OpenedStore['store'];
  let run: CliRun;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'countersign-projector-'));
    server = await startServer();
    ({ store } = await openReadyStore(server.url, { timeouts: { appendMs: 20_000, readMs: 20_000 } }));
    run = createCliRun({ COUNTERSIGN_DATA: folder, COUNTERSIGN_EVENTSTORE_URL: server.url });
    await request('run-1');
    (await caughtUp()).close();
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  const world = { clock: systemClock, ids: createSystemIds(), log: createCollectingLog() };
  const request = async (runId: string): Promise<void> => {
    const commands = createWriteSide({ store, tools: { find: () => undefined }, ...world });
    const call = { toolCallId: '1', toolName: 'delete_file', arguments: { path: '/x' }, needsApproval: true };
    expect(await requestToolCalls(commands, agent, { runId, calls: [call] }, runId)).toMatchObject({ status: 'done' });
  };
  /** The read model as the process that serves it leaves it. */
  const caughtUp = async (): Promise<ReadModel> => {
    const readModel = await openReadModel({ file: join(folder, 'read-model.db'), source: store, log: world.log });
    readModel.apply(await store.readAll(readModel.checkpoint(), 100));
    return readModel;
  };

  it('verifies the views against the log of EventStoreDB, while a process serves them', async () => {
    const serving = await caughtUp();
    await request('run-2');
    const { code, out } = await run('projector', 'verify', '--json');
    expect(code).toBe(0);
    // Events that the process has not folded yet are not a difference.
    expect(JSON.parse(out)).toMatchObject({ same: true, differences: [], events: 2 });
    serving.close();
  });

  it('names the difference, and rebuilds it for the next start of that process', async () => {
    const file = new DatabaseSync(join(folder, 'read-model.db'));
    file.exec('DELETE FROM approvals');
    file.close();
    const verified = await run('projector', 'verify');
    expect(verified.code).toBe(5);
    expect(verified.out).toMatch(/NOT what the log says[^]*approvals/);
    const rebuilt = await run('projector', 'rebuild');
    expect(rebuilt.code).toBe(0);
    expect(rebuilt.out).toMatch(/Built from 2 events[^]*when the process that serves it starts next/);
    expect(await run('projector', 'verify')).toMatchObject({ code: 5 });
    (await caughtUp()).close();
    expect(await run('projector', 'verify')).toMatchObject({ code: 0 });
  });

  it('says that the key of a read model is at the keeper, and how it is built again all the same', async () => {
    const env = { COUNTERSIGN_DATA: folder, COUNTERSIGN_EVENTSTORE_URL: server.url };
    for (const more of [{ COUNTERSIGN_KEEPER_URL: 'https://keeper:7443' }, { COUNTERSIGN_KEYS_FOLDER: folder }]) {
      for (const command of ['verify', 'rebuild']) {
        const { code, err } = await createCliRun({ ...env, ...more })('projector', command);
        expect(code).not.toBe(0);
        expect(err).toContain('stop the process, delete its read-model.db, and start it');
      }
    }
  });

  it('says when the log is another one, and when EventStoreDB does not answer', async () => {
    const other = await startServer();
    await openReadyStore(other.url);
    const elsewhere = createCliRun({ COUNTERSIGN_DATA: folder, COUNTERSIGN_EVENTSTORE_URL: other.url });
    expect(await elsewhere('projector', 'verify')).toMatchObject({ code: 5, err: expect.stringContaining('log') });
    server.stop();
    const { code, err } = await run('projector', 'verify');
    expect(code).toBe(7);
    expect(err).toContain('EventStoreDB');
  });
});
