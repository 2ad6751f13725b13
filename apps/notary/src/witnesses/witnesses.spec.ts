import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatSignatureLine, formatVkey, parseCheckpoint, parseNote, parseWitnessPolicy } from '@countersign/audit';
import { createSimulatedEventStore, createSimulatedLog, sampleEvent } from '@countersign/event-store/testing';
import type { SimulatedLog } from '@countersign/event-store/testing';
import { systemStream } from '@countersign/contracts';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { createMetricsRegistry, openSystemLog } from '@countersign/shell';
import { createSilentLog } from '@countersign/runtime/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openNotary } from '../open-notary.js';
import { createKey, refuse, startWitness as beginWitness } from '../testing/witness.js';
import type { Handle, Witness } from '../testing/witness.js';
import { readWitnesses } from './witness-settings.js';
import { createWitnessesMetrics } from './witnesses-report.js';

const closes: (() => unknown)[] = [];
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'witnesses-'));
});
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close();
  rmSync(folder, { recursive: true });
});

async function record(log: SimulatedLog, count: number): Promise<void> {
  const store = createSimulatedEventStore({ clock: systemClock, log });
  for (let n = 0; n < count; n += 1) {
    const event = sampleEvent();
    const owned = { ...event, metadata: { ...event.metadata, tenant: 'acme' } };
    await store.append(`toolCall-${event.eventId}`, -1, [owned]);
  }
}

/** A witness that ends with the test. */
async function startWitness(name: string): Promise<Witness> {
  const witness = await beginWitness(name);
  closes.push(witness.close);
  return witness;
}

function policyFile(witnesses: readonly Witness[], quorum: string): string {
  const lines = witnesses.map(({ key, url }, at) => `witness w${String(at)} ${formatVkey(key)} ${url}\n`);
  const names = witnesses.map((_witness, at) => `w${String(at)}`).join(' ');
  const file = join(folder, 'policy');
  writeFileSync(file, `${lines.join('')}group g ${quorum} ${names}\nquorum g\n`);
  return file;
}

function start(log: SimulatedLog, file: string, data = folder) {
  const notary = openNotary({
    ...{ folder: data, logKeyFile: null, logSigner: null, sinks: [], acceptsContradiction: false },
    ...{ store: createSimulatedEventStore({ clock: systemClock, log }), clock: systemClock, log: createSilentLog() },
    ...{ origin: 'countersign.example', witnesses: readWitnesses(file, true) },
  });
  closes.push(notary.stop);
  return notary;
}

const sizeOf = (note: string | undefined): number | undefined =>
  parseCheckpoint(parseNote(note ?? '')?.text ?? '')?.size;
const lines = (note: string | undefined): number => parseNote(note ?? '')?.signatures.length ?? 0;

async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 5000 && !isSo(); tries += 1) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(isSo()).toBe(true);
}

it('serves the newest checkpoint with the quorum, and the newest one as pending; a witness that is away holds up nothing', async () => {
  const log = createSimulatedLog();
  await record(log, 5);
  const [one, other] = [await startWitness('one.example'), await startWitness('other.example')];
  other.instead = (_body, response) => void response.writeHead(500).end();
  const notary = start(log, policyFile([one, other], 'any'));
  await notary.sign('acme');
  await until(() => sizeOf(notary.newest('acme')) === 5);
  expect(lines(notary.newest('acme'))).toBe(3);
  const registry = createMetricsRegistry();
  createWitnessesMetrics(registry, notary);
  const secondsOf = async (name: string): Promise<number> =>
    Number(new RegExp(`^${name}[^ ]* (\\d+)$`, 'm').exec(await registry.metrics())?.[1]);
  expect(Date.now() / 1000 - (await secondsOf('countersign_log_quorum_timestamp_seconds'))).toBeLessThan(60);
  expect(await secondsOf('countersign_log_witness_success_timestamp_seconds\\{witness="w0"')).toBeGreaterThan(0);
  one.instead = other.instead;
  await record(log, 3);
  await notary.sign('acme');
  await until(() => notary.witnessStates().every(({ problem }) => problem === 'it answered with 500'));
  expect([sizeOf(notary.newest('acme')), sizeOf(notary.newest('acme', true))]).toEqual([5, 8]);
  expect(notary.health()).toEqual({ status: 'ok' });
  one.instead = undefined;
  await until(() => sizeOf(notary.newest('acme')) === 8);
});

it('asks the witnesses of a changed file, and keeps the earlier ones while the file cannot be used', async () => {
  const log = createSimulatedLog();
  await record(log, 5);
  const [one, other] = [await startWitness('one.example'), await startWitness('other.example')];
  const file = policyFile([one], 'all');
  const notary = start(log, file);
  await notary.sign('acme');
  await until(() => notary.newest('acme')?.includes('one.example') === true);
  writeFileSync(file, 'quorum nobody\n');
  await until(() => !notary.areWitnessesCurrent());
  expect(notary.witnessStates()).toHaveLength(1);
  expect(notary.newest('acme')).toContain('one.example');
  policyFile([one, other], 'all');
  await until(() => notary.newest('acme')?.includes('other.example') === true);
  expect(lines(notary.newest('acme'))).toBe(4);
  expect([notary.areWitnessesCurrent(), notary.witnessStates().length]).toEqual([true, 2]);
  other.instead = refuse;
  await record(log, 3);
  await notary.sign('acme');
  await until(() => notary.witnessStates()[1]?.problem !== undefined);
  expect(sizeOf(notary.newest('acme'))).toBe(5);
  // The witness that is away is not needed any more.
  policyFile([one], 'all');
  await until(() => sizeOf(notary.newest('acme')) === 8);
  expect(notary.newest('acme')).not.toContain('other.example');
});

it('records who the witnesses are, each change of their file, and a file that cannot be used', async () => {
  const log = createSimulatedLog();
  const store = createSimulatedEventStore({ clock: systemClock, log });
  const world = { store, folder, clock: systemClock, ids: createSystemIds(), log: createSilentLog() };
  const system = openSystemLog(world);
  const recorded = async () => {
    const events = await store.readStream(systemStream('default', system.processId));
    return events.map(({ type, data }) => {
      const { configures, summary, why } = data as { configures: string; summary?: string[]; why?: string };
      return [type, configures, summary ?? why];
    });
  };
  const [one, other] = [await startWitness('one.example'), await startWitness('other.example')];
  const file = policyFile([one], 'all');
  const notary = start(log, file);
  await notary.recordSettings(system);
  await notary.recordSettings(system);
  const first = ['ConfigurationChanged', 'witnesses', ['w0 (one.example)']];
  expect(await recorded()).toEqual([first]);
  policyFile([one, other], 'all');
  const both = ['ConfigurationChanged', 'witnesses', ['w0 (one.example)', 'w1 (other.example)']];
  await until(() => log.events.length === 2);
  expect(await recorded()).toEqual([first, both]);
  writeFileSync(file, 'quorum nobody\n');
  await until(() => log.events.length === 3);
  const refused = ['ConfigurationRefused', 'witnesses', expect.stringContaining('nobody')];
  expect(await recorded()).toEqual([first, both, refused]);
  await system.close();
});

it('keeps cosignatures over a restart, and goes on from the size that a witness has seen', async () => {
  const log = createSimulatedLog();
  await record(log, 5);
  const witness = await startWitness('one.example');
  const file = policyFile([witness], 'all');
  const first = start(log, file);
  await first.sign('acme');
  await until(() => lines(first.newest('acme')) === 3);
  await first.stop();
  closes.pop();
  const { asked } = witness;
  witness.instead = (_body, response) => void response.writeHead(503).end();
  const second = start(log, file);
  await until(() => witness.asked > asked);
  expect([sizeOf(second.newest('acme')), lines(second.newest('acme'))]).toEqual([5, 3]);
  witness.instead = undefined;
  await record(log, 4);
  await second.sign('acme');
  await until(() => sizeOf(second.newest('acme')) === 9);
});

it.each<[string, (witness: Witness) => Handle]>([
  [
    'a cosignature of another key',
    ({ lineOf }) => {
      const other = createKey('one.example');
      return (body, response) => void response.end(other.lineOf(textIn(body)) + lineOf('other\n1\nAAAA\n'));
    },
  ],
  [
    'an old cosignature with a newer time',
    ({ lineOf, key }) =>
      (body, response) => {
        const [, , encoded = ''] = lineOf(textIn(body)).trim().split(' ');
        const bytes = Buffer.from(encoded, 'base64').subarray(4);
        bytes.writeBigUInt64BE(1_900_000_000n);
        response.end(`${formatSignatureLine({ name: key.name, id: key.id, signature: bytes })}\n`);
      },
  ],
  ['an answer that never ends', () => (_body, response) => streamOn(response)],
  ['an answer that is too long', () => (_body, response) => void response.end('x'.repeat(200_000))],
  [
    'a redirect',
    ({ url }) =>
      (_body, response) =>
        void response.writeHead(307, { location: `${url}add-checkpoint` }).end(),
  ],
  ['409 without a size', () => (_body, response) => void response.writeHead(409).end('many\n')],
  ['409 with a smaller size each time', () => (_body, response) => void response.writeHead(409).end('1\n')],
])('takes nothing from a hostile witness: %s', async (name, handle) => {
  const log = createSimulatedLog();
  await record(log, 5);
  const witness = await startWitness('one.example');
  witness.instead = handle(witness);
  const notary = start(log, policyFile([witness], 'all'));
  await notary.sign('acme');
  await until(() => notary.witnessStates()[0]?.problem !== undefined);
  if (name === 'an answer that never ends') expect(notary.witnessStates()[0]?.problem).toBe('the answer is too long');
  expect([notary.newest('acme'), sizeOf(notary.newest('acme', true))]).toEqual([undefined, 5]);
  expect(notary.health()).toEqual({ status: 'ok' });
});

/** Sends 3 MiB/s until the connection ends. */
function streamOn(response: ServerResponse): void {
  const sending = setInterval(() => response.write('x'.repeat(16_384)), 5);
  response.on('close', () => clearInterval(sending));
}

function textIn(body: string): string {
  return parseNote(body.slice(body.indexOf('\n\n') + 2))!.text;
}

it.each([
  [3, /contradicts the log of tenant "acme": it has seen 5 events, and the log has 3 signed/],
  [5, /it has seen another root of 5 events/],
  [7, /it refuses the proof from 5 to 7 events/],
])('a log that was put back to %i other events is rewound: nothing more is signed', async (count, why) => {
  const log = createSimulatedLog();
  await record(log, 5);
  const witness = await startWitness('one.example');
  const file = policyFile([witness], 'all');
  const honest = start(log, file);
  await honest.sign('acme');
  await until(() => witness.seen.size === 5);
  const forged = createSimulatedLog();
  await record(forged, count);
  const rewound = start(forged, file, mkdtempSync(join(folder, 'other-')));
  await rewound.sign('acme');
  await until(() => rewound.health().status === 'rewound');
  expect(rewound.health()).toMatchObject({ why: expect.stringMatching(why) });
  expect(rewound.newest('acme')).toBeUndefined();
  await record(forged, 9);
  expect(await rewound.sign('acme')).toMatchObject({ status: 'rewound' });
  expect([rewound.rewound('acme')?.why, rewound.rewound('globex')]).toEqual([expect.stringMatching(why), undefined]);
  const nextEpoch = expect.stringMatching(new RegExp(`/acme/2\n${String(count + 9)}\n`));
  expect(await rewound.goOn('acme')).toEqual({ status: 'signed', note: nextEpoch });
  await until(() => rewound.newest('acme') !== undefined);
  expect([rewound.newest('acme'), rewound.health()]).toEqual([nextEpoch, { status: 'ok' }]);
  expect(rewound.rewound('acme')).toBeUndefined();
});

describe('a policy is refused', () => {
  const vkey = (): string => formatVkey(createKey('w.example').key);
  it.each([
    [
      'a private address',
      () => `witness w ${vkey()} https://10.0.0.1/\nquorum w\n`,
      /needs COUNTERSIGN_WITNESS_PRIVATE=true/,
    ],
    ['an address that is not https', () => `witness w ${vkey()} http://w.example/\nquorum w\n`, /is not https/],
    ['a quorum without an address', () => `witness w ${vkey()}\nquorum w\n`, /can never be the quorum/],
    ['no quorum', () => `witness w ${vkey()} https://w.example/\n`, /it has no quorum line/],
  ])('%s', (_name, text, words) => {
    const file = join(folder, 'policy');
    writeFileSync(file, text());
    expect('policy' in parseWitnessPolicy(text())).toBe(words.source !== 'it has no quorum line');
    expect(() => readWitnesses(file, false)).toThrow(words);
  });
});
