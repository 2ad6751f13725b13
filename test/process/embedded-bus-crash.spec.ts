import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from '@jest/globals';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';

cleanUpAfterEach();

/** Handles five events of an in-memory log; the third one aborts the process. Prints the handled ones. */
const consumer = `
import { createEmbeddedMessageBus } from '@countersign/message-bus';
import { createLog, systemClock } from '@countersign/runtime';
const metadata = { tenant: 'default', callId: null, runId: 'run', schemaVersion: 1, commandId: 'command' };
const events = [1, 2, 3, 4, 5].map((position) => ({ eventId: String(position), type: 'ToolCallAllowed', data: {}, metadata,
  stream: 'toolCall-none', revision: 0, position, recordedAt: '2030-01-01T00:00:00.000Z' }));
const after = (position) => events.filter((event) => event.position > position);
const source = {
  readAll: async (position, limit) => after(position).slice(0, limit),
  subscribe: (position, { onEvents }) => {
    queueMicrotask(() => onEvents(after(position)));
    return { stop: async () => undefined };
  },
};
const bus = createEmbeddedMessageBus({ folder: process.argv[1], topics: { t: source }, clock: systemClock,
  log: createLog({ level: 'silent' }) });
const done = Promise.withResolvers();
bus.subscribe({ group: 'g', topics: ['t'], onMessage: ({ offset }) => {
  if (offset === '3') process.abort();
  console.log(offset);
  if (offset === '5') done.resolve();
} });
await done.promise;
await bus.close();
`;

async function run(folder: string): Promise<{ readonly handled: readonly string[]; readonly signal: unknown }> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', consumer, folder], {
    cwd: join(import.meta.dirname, '..', '..'),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  const [, signal] = (await once(child, 'close')) as [unknown, unknown];
  return { handled: printed.split('\n').filter(Boolean), signal };
}

test('an event that aborts the process of its handler three times is parked, and those behind it are handled', async () => {
  const folder = temporaryFolder();
  for (let life = 1; life <= 3; life += 1) {
    const { handled, signal } = await run(folder);
    expect([signal, handled.includes('4')]).toEqual(['SIGABRT', false]);
  }
  expect(await run(folder)).toEqual({ handled: ['4', '5'], signal: null });
  const database = new DatabaseSync(join(folder, 'bus.db'), { readOnly: true });
  const letters = database.prepare('SELECT message_offset, code, attempts, state FROM dead_letters').all();
  database.close();
  expect(letters.map((letter) => ({ ...letter }))).toEqual([
    { message_offset: '3', code: 'crashed', attempts: 3, state: 'parked' },
  ]);
});
