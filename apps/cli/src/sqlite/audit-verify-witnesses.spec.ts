import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import {
  cosignedText,
  formatNote,
  formatTimestamped,
  formatVkey,
  keyTypes,
  parseNote,
  verifierKey,
} from '@countersign/audit';
import { approvedStory, honestCheckpoint, testSigner } from '@countersign/audit/testing';
import type { NewEvent, StoredEvent } from '@countersign/contracts';
import { openEmbeddedEventStore } from '@countersign/event-store';
import { createLog, systemClock } from '@countersign/runtime';
import { createCliRun } from '../testing/cli-run.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const run = createCliRun({});
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const raw = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32);
const witness = verifierKey('witness.example', keyTypes.cosignature, raw);

/** The note with the cosignature of the witness. */
function cosigned(note: string): string {
  const { text, signatures } = parseNote(note)!;
  const time = 1_800_000_000n;
  const signature = formatTimestamped({
    time,
    signature: sign(null, Buffer.from(cosignedText(text, time)), privateKey),
  });
  return formatNote({ text, signatures: [...signatures, { name: witness.name, id: witness.id, signature }] });
}

async function record(): Promise<readonly StoredEvent[]> {
  const store = await openEmbeddedEventStore({ folder, log: createLog({ level: 'silent' }), clock: systemClock });
  const { events } = approvedStory();
  for (const { stream, revision, eventId, type, data, metadata } of events) {
    await store.append(stream, revision - 1, [{ eventId, type, data, metadata } as unknown as NewEvent]);
  }
  const stored = await store.readAll(0, 1000);
  await store.close();
  return stored as unknown as readonly StoredEvent[];
}

function keep(newest: string, withCosignature: string): void {
  const kept = new DatabaseSync(join(folder, 'checkpoints.db'));
  kept.exec(
    'CREATE TABLE checkpoints (tenant TEXT, epoch INTEGER, note TEXT); CREATE TABLE cosigned (tenant TEXT, note TEXT)',
  );
  kept.prepare('INSERT INTO checkpoints VALUES (?, 1, ?)').run('default', newest);
  kept.prepare('INSERT INTO cosigned VALUES (?, ?)').run('default', withCosignature);
  kept.close();
}

async function verified(source = folder) {
  const policy = join(folder, 'policy');
  writeFileSync(policy, `log ${formatVkey(testSigner.key)}\nwitness w ${formatVkey(witness)}\nquorum w\n`);
  return run('audit', 'verify', source, '--policy', policy);
}

it('the cosignatures that are kept with a log count, of the newest checkpoint and of one before it', async () => {
  const events = await record();
  const newest = honestCheckpoint(events);
  keep(newest, cosigned(newest));
  const whole = await verified();
  expect([whole.code, whole.out]).toEqual([0, expect.not.stringContaining('came after the checkpoint')]);
  rmSync(join(folder, 'checkpoints.db'));
  keep(newest, cosigned(honestCheckpoint(events.slice(0, -2))));
  const part = await verified();
  expect([part.code, part.out]).toEqual([
    0,
    expect.stringContaining('the last 2 events: they came after the checkpoint'),
  ]);
});

it('a kept checkpoint of another log is found, also where only its cosignatures are kept', async () => {
  const events = await record();
  const other = events.map((event) => ({ ...event, recordedAt: '2020-01-01T00:00:00.000Z' }));
  keep(honestCheckpoint(events), cosigned(honestCheckpoint(other)));
  expect((await verified()).code).toBe(1);
});

it('a bundle ends with the newest checkpoint that has the quorum, unless the newest of all is wanted', async () => {
  const events = await record();
  keep(honestCheckpoint(events), cosigned(honestCheckpoint(events.slice(0, -2))));
  const [bundle, pending] = [join(folder, 'bundle'), join(folder, 'pending')];
  const made = await run('audit', 'export', folder, '-o', bundle);
  expect([made.code, made.err]).toEqual([0, expect.stringContaining('The newest one of all has 2 more events')]);
  expect((await verified(bundle)).code).toBe(0);
  expect((await run('audit', 'export', folder, '-o', pending, '--pending')).out).toContain(
    `${String(events.length)} events`,
  );
  expect((await verified(pending)).code).toBe(1);
});
