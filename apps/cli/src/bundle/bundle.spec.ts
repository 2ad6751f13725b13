import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { builtInPolicyVersion, formatVkey } from '@countersign/audit';
import { approvedStory, honestCheckpoint, strangerSigner, testSigner, versionOneLog } from '@countersign/audit/testing';
import type { StoredEvent } from '@countersign/contracts';
import fc from 'fast-check';
import { createCliRun } from '../testing/cli-run.js';
import { exportTo, rewriteManifest } from '../testing/bundle-of.js';
import type { ExportPorts } from './export-bundle.js';
import type { Manifest } from './layout.js';
import { filesIn, hashFile } from './manifest.js';

const run = createCliRun({});
const log = versionOneLog();
let top: string;
let honest: string;
let trust: readonly string[];
let number = 0;

beforeAll(async () => {
  top = mkdtempSync(join(tmpdir(), 'countersign-bundle-'));
  honest = join(top, 'honest');
  await exportTo(honest, { events: log, note: honestCheckpoint(log) });
  writeFileSync(join(top, 'keys'), formatVkey(testSigner.key));
  writeFileSync(join(top, 'kept'), honestCheckpoint(log));
  trust = ['--vkey', join(top, 'keys'), '--since', join(top, 'kept')];
});
afterAll(() => {
  rmSync(top, { recursive: true });
});

interface Line {
  readonly check?: string;
  readonly ok?: boolean;
  readonly index?: number | null;
  readonly detail?: string;
  readonly summary?: { readonly exit: number; readonly unproven: readonly string[]; readonly root: string };
}

async function verified(folder: string, ...args: readonly string[]) {
  const { code, out, err } = await run('audit', 'verify', folder, ...args, '--json');
  const lines = out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]));
  const findings = lines.filter(({ ok }) => ok === false);
  const first = Math.min(...findings.map(({ index }) => index ?? Infinity));
  return { code, err, findings, first, checks: lines.map(({ check }) => check), summary: lines.at(-1)?.summary };
}

const fresh = (): string => join(top, String(++number));

/** A copy of the honest bundle. */
function copied(): string {
  const folder = fresh();
  cpSync(honest, folder, { recursive: true });
  return folder;
}

const textOf = (folder: string, path: string): string => readFileSync(join(folder, path), 'utf8');
const eventsPath = 'events/000000000000.ndjson';
const pathOf = (ending: string): string => filesIn(honest).find((path) => path.endsWith(ending)) ?? '';

describe('a bundle', () => {
  it('is proven by a key and a checkpoint that were kept elsewhere, and says what it does not prove', async () => {
    const { code, findings, summary, checks } = await verified(honest, ...trust);
    expect({ code, findings }).toEqual({ code: 0, findings: [] });
    expect(checks).toEqual(expect.arrayContaining(['body', 'files', 'signature', 'tree', 'since']));
    expect(summary?.unproven).toContainEqual(expect.stringContaining('Parquet'));
    expect((await verified(honest)).code).toBe(3);
  });

  it('has every file in its manifest, each policy under its digest, and the range', () => {
    const manifest = JSON.parse(textOf(honest, 'manifest.json')) as Manifest;
    expect(Object.keys(manifest.files)).toEqual(filesIn(honest).filter((path) => path !== 'manifest.json'));
    expect(manifest).toMatchObject({ range: { first: 0, size: log.length }, checkpoint: honestCheckpoint(log) });
    const policies = Object.entries(manifest.files).filter(([path]) => path.startsWith('policies/'));
    expect(policies.length).toBeGreaterThan(0);
    for (const [path, { sha256 }] of policies) expect(path).toBe(`policies/${sha256}.json`);
  });

  it('has the built-in policy, which no event of the log has, and one without it is proven too', async () => {
    const { events } = approvedStory();
    const folder = fresh();
    await exportTo(folder, { events, note: honestCheckpoint(events) });
    const path = `policies/${builtInPolicyVersion('default').slice('sha256:'.length)}.json`;
    expect(textOf(folder, path)).toBe('{"default":"allow","tenant":"default","version":1}');
    const key = trust.slice(0, 2);
    expect((await verified(folder, ...key)).code).toBe(0);
    writeFileSync(join(folder, path), '{"default":"block","tenant":"default","version":1}');
    rewriteManifest(folder);
    expect((await verified(folder, ...key)).findings).toMatchObject([
      { check: 'files', detail: expect.stringContaining(path) },
    ]);
    rmSync(join(folder, path));
    rewriteManifest(folder);
    expect((await verified(folder, ...key)).code).toBe(0);
  });

  it('is the same for the same log', async () => {
    const again = fresh();
    await exportTo(again, { events: log, note: honestCheckpoint(log) });
    expect(textOf(again, 'manifest.json')).toBe(textOf(honest, 'manifest.json'));
  });

  it('holds an event with values in clear as a commitment, unless they are asked for', async () => {
    const events = approvedStory()
      .claim()
      .report({ output: { password: 'hunter2' } }).events;
    const note = honestCheckpoint(events);
    const [stored, clear] = [fresh(), fresh()];
    await exportTo(stored, { events, note });
    await exportTo(clear, { events, note, values: 'clear' });
    const whole = (folder: string) =>
      filesIn(folder)
        .map((path) => textOf(folder, path))
        .join('');
    expect(whole(stored)).not.toContain('hunter2');
    expect(textOf(clear, eventsPath)).toContain('hunter2');
    expect(textOf(clear, 'views/2026-11.csv')).not.toContain('hunter2');
    const { code, summary } = await verified(stored, '--vkey', join(top, 'keys'));
    expect(code).toBe(0);
    expect(summary?.unproven).toContain(
      '1 event held as commitments only: their content was not shown, and not judged (index 6)',
    );
    expect((await verified(clear, '--vkey', join(top, 'keys'))).summary).toMatchObject({ root: summary?.root });
  });

  it('is read line by line where a text has line ends of other programs', async () => {
    const { events } = approvedStory().claim().report({ output: 'one\u2028two\u2029three\u0085\r\nfour' });
    const folder = fresh();
    await exportTo(folder, { events, note: honestCheckpoint(events) });
    expect(await verified(folder, '--vkey', join(top, 'keys'))).toMatchObject({ code: 0, findings: [] });
  });

  it('is continued after a kill at any place, and is the same in the end', async () => {
    const many = Array.from({ length: 700 }, (_, index) => {
      const event = log[index % log.length] as StoredEvent;
      return { ...event, eventId: `e${String(index)}`, position: index + 1 };
    });
    const [whole, killed] = [fresh(), fresh()];
    await exportTo(whole, { events: many });
    const stopAt = (at: number) => (index: number) => {
      if (index === at) throw new Error('killed');
    };
    for (const at of [10, 300]) {
      await expect(exportTo(killed, { events: many, onEvent: stopAt(at) })).rejects.toThrow('killed');
    }
    let first: number | undefined;
    await exportTo(killed, { events: many, onEvent: (index) => (first ??= index) });
    expect(first).toBe(256);
    expect(textOf(killed, 'manifest.json')).toBe(textOf(whole, 'manifest.json'));
    await expect(exportTo(killed, { events: many })).rejects.toThrow('There is a bundle');
  });

  it('is interrupted while it writes a table, and is continued', async () => {
    const many = Array.from({ length: 1_100 }, (_, index) => {
      const event = log[index % log.length] as StoredEvent;
      return { ...event, eventId: `e${String(index)}`, position: index + 1 };
    });
    const [folder, controller] = [fresh(), new AbortController()];
    const onProgress: ExportPorts['onProgress'] = (part) => {
      if (part !== 'table rows') return;
      setImmediate(() => {
        controller.abort();
      });
    };
    expect(await exportTo(folder, { events: many, onProgress, interrupted: controller.signal })).toBeUndefined();
    expect(filesIn(folder)).not.toContain('views/2026-11.parquet');
    expect(await exportTo(folder, { events: many })).toMatchObject({ range: { size: 1_100 } });
    expect(filesIn(folder)).toContain('views/2026-11.parquet');
  });

  it('is not made of a log that is not the one of its checkpoint', async () => {
    const forged = log.with(3, { ...(log[3] as StoredEvent), eventId: 'other' });
    await expect(exportTo(fresh(), { events: forged, note: honestCheckpoint(log) })).rejects.toThrow(
      'are not those of its checkpoint',
    );
  });
});

/** Files whose content nothing signs: only the manifest knows them. */
const unsigned = /^(?:README\.md|columns\.csv|verify\.mjs|.*\.parquet)$/;

describe('a bundle of which one byte of any file was flipped', () => {
  const paths = () =>
    filesIn(honest).filter((path) => path !== 'manifest.json' && readFileSync(join(honest, path)).length > 0);
  const flip = (folder: string, path: string, seed: number): void => {
    const bytes = readFileSync(join(folder, path));
    const at = seed % bytes.length;
    bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << (seed % 8)), at);
    writeFileSync(join(folder, path), bytes);
  };

  it('is not proven', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.nat(), async (which, seed) => {
        const folder = copied();
        flip(folder, paths()[which % paths().length] ?? '', seed);
        expect((await verified(folder, ...trust)).code).toBe(1);
      }),
      { numRuns: 25 },
    );
  });

  it('is not proven either when the manifest is rewritten', async () => {
    const signed = paths().filter((path) => !unsigned.test(path));
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.nat(), async (which, seed) => {
        const folder = copied();
        flip(folder, signed[which % signed.length] ?? '', seed);
        rewriteManifest(folder);
        expect((await verified(folder, ...trust)).code).toBe(1);
      }),
      { numRuns: 50 },
    );
  });
});

/** A change of the events, and the index of the first one that it changes. */
interface Mutation {
  readonly what: string;
  readonly lines: (lines: readonly string[]) => readonly string[];
  readonly at: number;
}

const indexes = fc.nat({ max: log.length - 1 });
const lineAt = (lines: readonly string[], at: number): string => lines[at] ?? '';
const mutations: fc.Arbitrary<Mutation> = fc
  .oneof(
    indexes.map((at): Mutation => ({ what: 'drop', at, lines: (all) => all.toSpliced(at, 1) })),
    fc.tuple(indexes, indexes).map(([from, at]): Mutation => ({
      what: 'duplicate',
      at,
      lines: (all) => all.toSpliced(at, 0, lineAt(all, from)),
    })),
    fc
      .tuple(indexes, indexes)
      .filter(([one, other]) => one !== other)
      .map(([one, other]): Mutation => ({
        what: 'swap',
        at: Math.min(one, other),
        lines: (all) => all.with(one, lineAt(all, other)).with(other, lineAt(all, one)),
      })),
    indexes.map((at): Mutation => ({ what: 'truncate', at, lines: (all) => all.slice(0, at) })),
    indexes.map((at): Mutation => ({
      what: 'other content',
      at,
      lines: (all) => all.with(at, lineAt(all, at).replace('"tenant":"default"', '"tenant":"other"')),
    })),
  )
  .map((mutation) => ({ ...mutation, [fc.toStringMethod]: () => `${mutation.what} at ${String(mutation.at)}` }));

describe('a bundle whose events were changed', () => {
  it('is not proven, and an index at or before the change is named, with a new manifest too', async () => {
    await fc.assert(
      fc.asyncProperty(mutations, fc.boolean(), async ({ lines, at }, isRewritten) => {
        const folder = copied();
        const all = textOf(folder, eventsPath).trimEnd().split('\n');
        writeFileSync(join(folder, eventsPath), [...lines(all), ''].join('\n'));
        if (isRewritten) rewriteManifest(folder);
        const { code, first } = await verified(folder, ...trust);
        expect(code).toBe(1);
        expect(first).toBeLessThanOrEqual(at);
      }),
      { numRuns: 40 },
    );
  });

  it.each([
    ['an event with another id', (events: readonly StoredEvent[]) => events.with(60, renamed(events[60]))],
    ['without an event', (events: readonly StoredEvent[]) => events.toSpliced(90, 1)],
    ['with two events swapped', (events: readonly StoredEvent[]) => swapped(events, 70, 100)],
    ['with an end cut off', (events: readonly StoredEvent[]) => events.slice(0, 120)],
  ])(
    'is found by a kept checkpoint when everything is exported again %s, also under the own key',
    async (_, change) => {
      const forged = change(log);
      for (const signer of [testSigner, strangerSigner]) {
        const folder = fresh();
        await exportTo(folder, { events: forged, note: honestCheckpoint(forged, signer) });
        const { code, findings } = await verified(folder, ...trust);
        expect(code).toBe(1);
        expect(findings).toContainEqual(expect.objectContaining({ check: 'since', index: 0 }));
      }
    },
  );

  it('names the exact event where the tiles of the bundle are the signed ones', async () => {
    const folder = fresh();
    await exportTo(folder, { events: log.with(60, renamed(log[60])) });
    cpSync(join(honest, 'tiles'), join(folder, 'tiles'), { recursive: true });
    rewriteManifest(folder);
    const { findings } = await verified(folder, ...trust);
    expect(findings.find(({ check }) => check === 'since')?.index).toBe(60);
  });

  it('judges an illegal event, although its tree is signed', async () => {
    const { events } = approvedStory().claim({ attempt: 2 });
    const folder = fresh();
    await exportTo(folder, { events, note: honestCheckpoint(events) });
    const { findings } = await verified(folder, '--vkey', join(top, 'keys'));
    expect(findings).toMatchObject([{ check: 'legal', index: 5 }]);
  });
});

const renamed = (event: StoredEvent | undefined): StoredEvent => ({ ...(event as StoredEvent), eventId: 'renamed' });
const swapped = (events: readonly StoredEvent[], one: number, other: number): readonly StoredEvent[] =>
  events.with(one, events[other] as StoredEvent).with(other, events[one] as StoredEvent);

describe('a hostile bundle', () => {
  it.each(['../outside', 'events/../../outside', '/etc/hostname', 'a//b', '.hidden', 'events/..'])(
    'makes nothing be read at the path %s',
    async (path) => {
      const folder = copied();
      writeFileSync(join(top, 'outside'), 'x');
      rewriteManifest(folder, (manifest) => ({
        ...manifest,
        files: { ...manifest.files, [path]: { bytes: 1, sha256: '0'.repeat(64) } },
      }));
      const { code, findings } = await verified(folder, ...trust);
      expect(code).toBe(1);
      expect(findings[0]?.detail).toBe(`the manifest names a path that no bundle has: ${path}`);
    },
  );

  it('makes no link be followed', async () => {
    const folder = copied();
    const file = join(folder, eventsPath);
    cpSync(file, join(top, 'elsewhere'));
    rmSync(file);
    symlinkSync(join(top, 'elsewhere'), file);
    expect((await verified(folder, ...trust)).findings[0]?.detail).toContain(`${eventsPath} is missing`);
  });

  it('is found to be two bundles that were mixed', async () => {
    const other = fresh();
    await exportTo(other, { events: log.slice(0, 100), note: honestCheckpoint(log.slice(0, 100)) });
    for (const path of [eventsPath, 'views/2026-11.csv', pathOf('checkpoints/1.txt'), 'manifest.json']) {
      const folder = copied();
      cpSync(join(other, path), join(folder, path));
      if (path !== 'manifest.json') rewriteManifest(folder);
      expect((await verified(folder, ...trust)).code).toBe(1);
    }
  });

  it.each([
    eventsPath,
    ...['views/2026-11.ndjson', 'views/2026-11.csv', 'views/2026-11.parquet', 'system.ndjson', 'checkpoints/1.txt'],
  ])('is found to lack the file %s', async (path) => {
    const folder = copied();
    rmSync(join(folder, path));
    const { [path]: _, ...files } = (JSON.parse(textOf(folder, 'manifest.json')) as Manifest).files;
    writeFileSync(
      join(folder, 'manifest.json'),
      JSON.stringify({ ...JSON.parse(textOf(folder, 'manifest.json')), files }),
    );
    expect((await verified(folder, ...trust)).code).toBe(1);
  });

  it.each(['views/2027-01.csv', 'events/000000051200.ndjson', 'tiles/tile/0/999', 'policies/x.json', 'note.txt'])(
    'is found to have the file %s, which is made of no event and is in the manifest',
    async (path) => {
      const folder = copied();
      mkdirSync(join(folder, path, '..'), { recursive: true });
      writeFileSync(join(folder, path), 'alice approved it');
      rewriteManifest(folder, (manifest) => ({
        ...manifest,
        files: { ...manifest.files, [path]: hashFile(join(folder, path)) },
      }));
      const { code, findings } = await verified(folder, ...trust);
      expect(code).toBe(1);
      expect(findings).toMatchObject([{ check: 'files', detail: `${path} is made of no event` }]);
    },
  );

  it('is found to leave out the content of an event that has no hidden values', async () => {
    const folder = copied();
    const lines = textOf(folder, eventsPath).trimEnd().split('\n');
    const at = lines.findIndex((line) => line.includes('"type":"ExecutionClaimed"'));
    writeFileSync(
      join(folder, eventsPath),
      [...lines.with(at, (lines[at] ?? '').replace(/"body":\{"data".*$/, '"body":null}')), ''].join('\n'),
    );
    rewriteManifest(folder, (manifest) => ({ ...manifest, commitments: manifest.commitments + 1 }));
    const { code, findings } = await verified(folder, ...trust);
    expect(code).toBe(1);
    expect(findings).toContainEqual(expect.objectContaining({ check: 'body', index: at }));
  });

  it('is found to leave out the content of a denial, and to show it as an approval', async () => {
    const { events } = approvedStory();
    const folder = fresh();
    await exportTo(folder, { events, note: honestCheckpoint(events) });
    const lines = textOf(folder, eventsPath).replace(/"body":\{"data".*bob.*$/m, '"body":null}');
    writeFileSync(join(folder, eventsPath), lines);
    rewriteManifest(folder, (manifest) => ({ ...manifest, commitments: 1 }));
    const { code, findings } = await verified(folder, ...trust.slice(0, 2), '--all');
    expect(code).toBe(1);
    expect(findings).toContainEqual(expect.objectContaining({ check: 'files', index: 4 }));
  });

  it('is found to be without contents although it says that it has all', async () => {
    const events = approvedStory()
      .claim()
      .report({ output: { password: 'hunter2' } }).events;
    const folder = fresh();
    await exportTo(folder, { events, note: honestCheckpoint(events) });
    rewriteManifest(folder, (manifest) => ({ ...manifest, values: 'clear' }));
    expect((await verified(folder, ...trust.slice(0, 2))).findings).toMatchObject([{ check: 'files' }]);
  });

  it('is not judged for a time that ends before it begins', async () => {
    expect((await verified(honest, ...trust, '--from', '2026-02-01', '--to', '2026-01-01')).code).toBe(2);
  });

  it('is found to have a file too many, and a last file that is cut off', async () => {
    const [more, cut] = [copied(), copied()];
    writeFileSync(join(more, 'events', '000000051200.ndjson'), '');
    expect((await verified(more, ...trust)).findings[0]?.detail).toContain('does not name');
    const length = readFileSync(join(cut, eventsPath)).length;
    truncateSync(join(cut, eventsPath), length - 10);
    rewriteManifest(cut);
    const { code, findings } = await verified(cut, ...trust);
    expect(code).toBe(1);
    expect(findings).toContainEqual(expect.objectContaining({ check: 'read', index: log.length - 1 }));
  });

  it('is read in little memory when a line has no end', async () => {
    const folder = copied();
    writeFileSync(join(folder, eventsPath), 'x'.repeat(40 * 1024 * 1024));
    rewriteManifest(folder);
    expect((await verified(folder, ...trust)).code).toBe(1);
  });

  it('cannot be read without a manifest that is one', async () => {
    const folder = copied();
    for (const text of [
      '',
      '[]',
      '{"format":"countersign-bundle/1"}',
      textOf(honest, 'manifest.json').replace('bundle/1', 'bundle/2'),
      // Nothing vouches for a member that no check reads, and programs differ in which of two they show.
      textOf(honest, 'manifest.json').replace('"tenant"', '"approvedBy": "alice", "tenant"'),
      textOf(honest, 'manifest.json').replace('"tenant"', '"tenant": "other", "tenant"'),
      textOf(honest, 'manifest.json').replace('"sha256"', '"note": "x", "sha256"'),
      textOf(honest, 'manifest.json').replace('"first"', '"last": 7, "first"'),
    ]) {
      writeFileSync(join(folder, 'manifest.json'), text);
      expect((await verified(folder, ...trust)).code).toBe(2);
    }
    mkdirSync(fresh());
    expect((await verified(join(top, String(number)), ...trust)).code).toBe(2);
  });
});
