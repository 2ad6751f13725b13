import { generateKeyPairSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NewEvent } from '@countersign/contracts';
import { createSimulatedEventStore, createSimulatedLog } from '@countersign/event-store/testing';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { openSystemLog } from '../record/system-log.js';
import { openReceiptKeyFile } from './receipt-key-file.js';

const folder = mkdtempSync(join(tmpdir(), 'countersign-receipts-'));
const file = join(folder, 'receipts.pem');
const closing: (() => void | Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closing) await close();
  rmSync(folder, { recursive: true });
});

const pemOf = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' });
const pem = (): string => pemOf(generateKeyPairSync('ed25519').privateKey);
const [first, second] = [pem(), pem()];
const open = (text: string) => {
  writeFileSync(file, text, { mode: 0o600 });
  const opened = openReceiptKeyFile(file, createSilentLog());
  closing.push(opened.close);
  return opened;
};
const kidsOf = ({ keys }: ReturnType<typeof open>, tenant = 'default') =>
  keys()
    .of(tenant)
    .map(({ jwk }) => jwk.kid);

it('has a key for each tenant out of each key in the file, the one that signs first, the same in every process', () => {
  const [one] = kidsOf(open(first));
  const both = open(`${second}\n${first}`);
  expect(kidsOf(both)).toEqual([...kidsOf(open(second)), one]);
  expect(new Set([...kidsOf(both), ...kidsOf(both, 'acme')]).size).toBe(4);
});

it.each([
  ['nothing', ''],
  ['a key of another kind', pemOf(generateKeyPairSync('x25519').privateKey)],
  ['a second key that is damaged', first + second.replace('MC4', 'AAA')],
  ['a public key', pem().replaceAll('PRIVATE', 'PUBLIC')],
])('refuses a file with %s, and says how to make one', (_, text) => {
  expect(() => open(text)).toThrow(/COUNTERSIGN_RECEIPT_KEY_FILE.*openssl genpkey -algorithm ed25519/s);
});

it('takes over a changed file, keeps the keys when it cannot be used, and records both', async () => {
  const simulated = createSimulatedLog();
  const store = createSimulatedEventStore({ clock: systemClock, log: simulated });
  const ports = { store, folder, clock: systemClock, ids: createSystemIds(), log: createSilentLog() };
  const system = openSystemLog(ports);
  const opened = open(first);
  await opened.recordIn(system);
  const [one] = kidsOf(opened);
  writeFileSync(file, 'no key');
  opened.reload();
  expect([kidsOf(opened), opened.isCurrent()]).toEqual([[one], false]);
  writeFileSync(file, second + first);
  opened.reload();
  const [two] = kidsOf(opened);
  expect([kidsOf(opened), opened.isCurrent()]).toEqual([[two, one], true]);
  await system.close();
  await system.recorded('default');
  const events = simulated.events as readonly NewEvent[];
  expect(events.map(({ type, data }) => [type, (data as { summary?: readonly string[] }).summary])).toEqual([
    ['ConfigurationChanged', [one]],
    ['ConfigurationRefused', undefined],
    ['ConfigurationChanged', [two, one]],
  ]);
  expect(JSON.stringify(events)).not.toContain('PRIVATE');
});
