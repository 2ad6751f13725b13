import { hash, randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import canonicalize from 'canonicalize';
import { closedLoop, median } from './closed-loop.ts';
import { schemas, stepNames } from './floor.ts';
import type { StepName } from './floor.ts';

/**
 * The cost of the baseline with some duties of a ledger added, each step on top of the ones before: 0 the baseline
 * itself · 1 five events instead of four rows, with time, metadata and an id derived from the command's · 2 a leaf and
 * a chain hash of each · 3 streams: a unique name, and one event at each revision · 4 the salted digest of the
 * arguments in canonical JSON, at the request and at the claim · 5 one row of a view per call, in its own file, found
 * by id, run and deadline.
 */
export const rungs = [
  'the floor',
  '+ five events: ids, times, metadata',
  '+ hash chain',
  '+ streams and revisions',
  '+ digests of the arguments',
  '+ a row in a view',
] as const;

interface Waiting {
  readonly name: StepName;
  readonly callId: string;
  readonly text: string;
  readonly resolve: () => void;
}

interface Row {
  readonly callId: string;
  readonly name: string;
  readonly text: string;
}

interface Open {
  readonly stream: number;
  revision: number;
}

/** No rules, no tokens, no responses: only the parts that no ledger can omit. In process, like `comparedInProcess`. */
function openRung(rung: number): {
  readonly step: (name: StepName, callId: string, body: string) => Promise<void>;
  readonly close: () => void;
} {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-rung-'));
  const log = openFile(
    join(folder, 'log.db'),
    `CREATE TABLE events (position INTEGER PRIMARY KEY, stream INTEGER, revision INTEGER, id TEXT, name TEXT, at TEXT, metadata TEXT, digest TEXT, data TEXT, leaf BLOB, chain BLOB) STRICT;
     CREATE TABLE streams (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
     ${rung >= 3 ? 'CREATE UNIQUE INDEX by_stream ON events (stream, revision);' : ''}`,
  );
  const view = openFile(
    join(folder, 'view.db'),
    `CREATE TABLE calls (id INTEGER PRIMARY KEY, call TEXT NOT NULL UNIQUE, run TEXT, due TEXT, state TEXT, data TEXT) STRICT;
     CREATE INDEX by_run ON calls (run); CREATE INDEX by_due ON calls (due) WHERE due IS NOT NULL;`,
  );
  const insertEvent = log.prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const insertStream = log.prepare('INSERT INTO streams (name) VALUES (?)');
  const insertCall = view.prepare('INSERT INTO calls (call, run, due, state, data) VALUES (?, ?, ?, ?, ?)');
  const open = new Map<string, Open>();
  const ended: Row[] = [];
  let [position, chain]: [number, Uint8Array] = [0, new Uint8Array(32)];
  let waiting: Waiting[] = [];

  const streamOf = (callId: string): Open => {
    const known = open.get(callId);
    if (known !== undefined) return known;
    const stream = rung >= 3 ? Number(insertStream.run(`toolCall-${callId}`).lastInsertRowid) : 0;
    const opened = { stream, revision: -1 };
    open.set(callId, opened);
    return opened;
  };
  const write = ({ callId, name, text }: Row): void => {
    const entry = streamOf(callId);
    position += 1;
    entry.revision += 1;
    const commandId = `${name}-${callId}`;
    const [at, metadata] =
      rung >= 1
        ? [new Date().toISOString(), JSON.stringify({ tenant: 'default', callId, schemaVersion: 1, commandId })]
        : ['', ''];
    const id = rung >= 1 ? hash('sha1', `0:${commandId}`, 'hex') : '';
    let leaf: Uint8Array | null = null;
    if (rung >= 2) {
      const leafHex = hash('sha256', `${position}${entry.revision}${id}${name}${at}${metadata}${text}`, 'hex');
      leaf = Buffer.from(leafHex, 'hex');
      chain = Buffer.from(hash('sha256', Buffer.concat([chain, leaf]), 'hex'), 'hex');
    }
    const kept = leaf === null ? null : chain;
    const digest = hash('sha256', text);
    insertEvent.run(position, entry.stream, entry.revision, id, name, at, metadata, digest, text, leaf, kept);
    if (name !== 'outcome') return;
    open.delete(callId);
    if (rung >= 5) ended.push({ callId, name, text });
  };
  const project = (): void => {
    if (ended.length < 200) return;
    view.exec('BEGIN');
    for (const { callId, name, text } of ended.splice(0)) insertCall.run(callId, `run-${callId}`, null, name, text);
    view.exec('COMMIT');
  };
  const flush = (): void => {
    const group = waiting;
    waiting = [];
    log.exec('BEGIN IMMEDIATE');
    for (const { name, callId, text } of group) {
      write({ callId, name, text });
      if (rung >= 1 && name === 'requested') write({ callId, name: 'asked', text });
    }
    log.exec('COMMIT');
    project();
    for (const { resolve } of group) resolve();
  };
  const digestOf = (callId: string, parsed: object): string =>
    hash('sha256', canonicalize({ callId, salt: randomBytes(16).toString('hex'), parsed }) ?? '', 'hex');
  return {
    step: (name, callId, body) => {
      const parsed = schemas[name].parse(JSON.parse(body));
      const isBound = rung >= 4 && (name === 'requested' || name === 'claimed');
      const text = JSON.stringify(isBound ? { ...parsed, actionDigest: digestOf(callId, parsed) } : parsed);
      return new Promise((resolve) => {
        if (waiting.length === 0) setImmediate(flush);
        waiting.push({ name, callId, text, resolve });
      });
    },
    close: () => {
      log.close();
      view.close();
    },
  };
}

function openFile(file: string, schema: string): DatabaseSync {
  const database = new DatabaseSync(file);
  database.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=4000');
  database.exec(schema);
  return database;
}

/** Cycles per second on each step, in turn; `bodyOf` returns the body of a step of one call. */
export async function measureRungs(
  load: { readonly inFlight: number; readonly seconds: number; readonly rounds: number },
  bodyOf: (step: StepName, id: string) => string,
): Promise<readonly number[]> {
  const opened = rungs.map((_, rung) => openRung(rung));
  const rates: number[][] = rungs.map(() => []);
  for (let round = 0; round < load.rounds; round += 1) {
    for (const [rung, one] of opened.entries()) {
      const measured = await closedLoop(load.inFlight, load.seconds, async (_, n) => {
        const id = `${String(round)}-${String(n)}`;
        for (const step of stepNames) await one.step(step, id, bodyOf(step, id));
      });
      rates[rung]?.push(measured.cycles / measured.seconds);
    }
  }
  for (const one of opened) one.close();
  return rates.map(median);
}
