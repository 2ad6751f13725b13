import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NewEvent } from '@countersign/contracts';
import { createSimulatedEventStore, createSimulatedLog } from '@countersign/event-store/testing';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { createCollectingLog, createSilentLog } from '@countersign/runtime/testing';
import { version } from '../process/version.js';
import { recordConfiguration } from './configuration.js';
import { ProcessFileError } from './process-file.js';
import { createLogEndCheck, noteAcceptedEnd, noteStart } from './start.js';
import { openSystemLog } from './system-log.js';

const folder = mkdtempSync(join(tmpdir(), 'countersign-start-'));
const simulated = createSimulatedLog();
afterAll(() => rmSync(folder, { recursive: true }));

const open = () => {
  const store = createSimulatedEventStore({ clock: systemClock, log: simulated });
  return openSystemLog({ store, folder, clock: systemClock, ids: createSystemIds(), log: createSilentLog() });
};
const digest = (hex: string): string => `sha256:${hex.repeat(32)}`;
const typesSince = (from: number) => simulated.events.slice(from).map(({ type }) => type);

it('records each start of a process under one id, and a root key that is another one', async () => {
  const ids = new Set<string>();
  for (const rootKey of [digest('01'), digest('01'), digest('02')]) {
    const system = open();
    ids.add(system.processId);
    await noteStart(system, { role: 'standalone', files: { tokens: digest('03'), policy: null }, rootKey });
    await system.close();
  }
  expect(ids.size).toBe(1);
  expect(typesSince(0)).toEqual(['ProcessStarted', 'ProcessStarted', 'ProcessStarted', 'KeysRotated']);
  const { data, metadata, stream } = simulated.events[0] as NewEvent & { readonly stream: string };
  expect(data).toMatchObject({ role: 'standalone', version, files: { tokens: digest('03'), rootKey: digest('01') } });
  expect(data).not.toHaveProperty('files.policy');
  expect([metadata.tenant, stream]).toEqual(['default', `system-default-${[...ids].join()}`]);
  expect(simulated.events.at(-1)?.data).toMatchObject({ before: digest('01'), after: digest('02') });
});

it('records a configuration when it is another one, and its end', async () => {
  const system = open();
  const from = simulated.events.length;
  const channels = {
    configures: 'channels',
    summary: Array.from({ length: 300 }, (_, n) => `slack-${String(n)}`),
  } as const;
  for (const one of [null, digest('0a'), digest('0a'), digest('0b'), null, null])
    await recordConfiguration(system, [{ ...channels, digest: one }]);
  const changes = simulated.events.slice(from).map(({ data }) => data as { digest: string; summary: string[] });
  expect(changes.map((one) => one.digest.slice(7, 9))).toEqual(['0a', '0b', expect.any(String)]);
  expect(changes[0]?.summary.at(-1)).toBe('and 100 more');
});

it('goes on after another process with a copy of its folder has recorded', async () => {
  const [one, other] = [open(), open()];
  const from = simulated.events.length;
  const start = { role: 'gateway', files: {} };
  for (const system of [one, other, one]) {
    await noteStart(system, start);
    await system.close();
  }
  expect(typesSince(from)).toEqual(['ProcessStarted', 'ProcessStarted', 'ProcessStarted']);
});

it('warns at each start that the log has lost its end, until a person says that they know', async () => {
  const log = createCollectingLog();
  const start = async (known: number, end: number) => {
    const system = open();
    await noteAcceptedEnd(system, { known, end, checkpoint: undefined }, log);
    return system;
  };
  const [lost, from] = [{ from: 132, to: 11 }, simulated.events.length];
  await start(12, 12);
  expect(log.entries).toEqual([]);
  await start(132, 11);
  const system = await start(0, 12);
  const warning = {
    level: 'warn',
    message: 'the log has lost its end',
    fields: expect.objectContaining(lost) as object,
  };
  expect(log.entries).toEqual([warning, warning]);
  const { check } = createLogEndCheck(system);
  expect(await check()).toMatchObject({
    status: 'ok',
    note: expect.stringContaining('after position 11 up to 132') as unknown,
  });
  const data = { ...lost, by: 'me', reason: 'the disk was replaced', acceptedAt: '2026-11-27T10:00:00.000Z' };
  await system.record('default', { type: 'LogEndAccepted', data });
  expect(await check()).toEqual({ status: 'ok' });
  await start(0, 13);
  expect(log.entries).toHaveLength(2);
  expect(typesSince(from)).toEqual(['LogEndAccepted', 'LogEndAccepted']);
  await start(140, 13);
  expect(log.entries).toHaveLength(3);
});

it('names the version of the package', () => {
  const text = readFileSync(join(import.meta.dirname, '../../../../package.json'), 'utf8');
  expect(JSON.parse(text)).toMatchObject({ version });
});

it('does not start with a process.json that no process wrote', () => {
  const text = readFileSync(join(folder, 'process.json'), 'utf8');
  writeFileSync(join(folder, 'process.json'), text.slice(5));
  expect(open).toThrow(ProcessFileError);
});
