import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { formatVkey } from '@countersign/audit';
import { approvedStory, honestCheckpoint, testSigner } from '@countersign/audit/testing';
import { createCliRun } from '@countersign/cli/testing';
import type { NewEvent, StoredEvent } from '@countersign/contracts';
import { expect, it } from '@jest/globals';
import { openServerLog } from '../../eventstoredb-server/log.ts';
import { scheme } from '../../eventstoredb-server/client-under-test.ts';
import { cleanUpAfterEach, onCleanUp, openReadyStore, patient, startServer } from './harness.ts';

cleanUpAfterEach();

/** A server with an honest log, in which its owner can change the bytes, and a checkpoint of it. */
async function openWorld() {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-verify-'));
  const log = openServerLog(folder);
  onCleanUp(() => {
    log.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const server = await startServer({ log });
  const { store } = await openReadyStore(server.url, patient);
  for (const { stream, revision, type, data, metadata } of approvedStory().events)
    await store.append(stream, revision - 1, [{ eventId: randomUUID(), type, data, metadata } as unknown as NewEvent]);
  const events = (await store.readAll(0, 1000)) as unknown as readonly StoredEvent[];
  const [keys, kept] = [join(folder, 'keys'), join(folder, 'kept')];
  writeFileSync(keys, formatVkey(testSigner.key));
  writeFileSync(kept, honestCheckpoint(events));
  const url = server.url.replace(/^esdb/, scheme);
  const verify = () => createCliRun({})('audit', 'verify', url, '--vkey', keys, '--since', kept, '--json');
  const change = (sql: string) => {
    const database = new DatabaseSync(join(folder, 'eventstoredb.db'));
    database.exec(sql);
    database.close();
  };
  return { server, url, verify, change, size: events.length };
}

it('the log in an event store is verified against the checkpoint of the auditor, and nothing is written there', async () => {
  const { server, verify, size } = await openWorld();
  const before = server.log.end();
  const { code, out, err } = await verify();
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(JSON.parse(out.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({ summary: { exit: 0, size } });
  expect(server.log.end()).toBe(before);
});

it('a changed event in an event store is named', async () => {
  const { verify, change } = await openWorld();
  change(`UPDATE events SET data = CAST(replace(CAST(data AS TEXT), 'approve', 'refused') AS BLOB)
    WHERE type = 'ApprovalResponded'`);
  const { code, out } = await verify();
  expect(code).toBe(1);
  expect(out).toContain('"check":"since"');
});

it('an event store that is away is named without its password', async () => {
  const { code, err } = await createCliRun({})('audit', 'verify', `${scheme}://ann:secret@127.0.0.1:1?tls=false`);
  expect(code).toBe(2);
  expect(err).toContain('The event store cannot be verified: ');
  expect(err).not.toContain('secret');
});
