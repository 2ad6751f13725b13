import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '@countersign/message-bus/testing';
import { startKafkaBroker } from '../kafka-broker/broker.ts';
import { compiledNest } from './nest-consumer.ts';
import { openLedgerBehindKafka, type LedgerBehindKafka } from './worker-sdk/ledger-behind-kafka.ts';

const root = join(import.meta.dirname, '..', '..');
let brokers: readonly string[];
let ledger: LedgerBehindKafka;
const running: { readonly end: () => Promise<void> }[] = [];

beforeAll(async () => {
  ({ brokers } = await startKafkaBroker());
  ledger = await openLedgerBehindKafka(brokers, `own-${randomUUID()}`);
}, 240_000);
afterEach(async () => {
  for (const one of running.splice(0)) await one.end();
});
afterAll(() => ledger.close());

/** Starts a consumer of the guide. */
function start(groupId: string, program = join(root, 'examples', 'notifier', 'consumer.mjs')) {
  const child = spawn(process.execPath, [program], {
    env: {
      ...{ PATH: process.env['PATH'], COUNTERSIGN_URL: ledger.url, COUNTERSIGN_TOKEN: 'ann-token', GROUP: groupId },
      ...{ COUNTERSIGN_KAFKA_BROKERS: brokers.join(), COUNTERSIGN_TOPIC_PREFIX: ledger.prefix, FROM_BEGINNING: 'yes' },
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const end = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  running.push({ end });
  const waiting = () =>
    output
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { waits: string });
  return { waiting, end };
}

async function request(runId: string): Promise<string> {
  const calls = [{ toolCallId: 'call_1', toolName: 'pay', arguments: { amount: 5 }, needsApproval: true }];
  const response = await fetch(`${ledger.url}/v1/tool-calls`, {
    method: 'POST',
    headers: { authorization: 'Bearer agent-token', 'content-type': 'application/json' },
    body: JSON.stringify({ runId, calls }),
  });
  const body = (await response.json()) as {
    readonly calls: readonly { readonly approval: { readonly approvalId: string } }[];
  };
  return body.calls[0]?.approval.approvalId ?? '';
}

it('tells about what waits, not about what is decided, forged or told already, and goes on after a restart', async () => {
  const decided = await request('decided');
  await ledger.respond(decided, { decision: { type: 'deny' } });
  await ledger.publishForged('ApprovalRequested', { approvalId: 'apr_forged_1' }, 'forged', { position: 999_999 });
  const first = await request('first');
  const group = `own-${randomUUID()}`;
  const one = start(group);
  await eventually(
    () => expect(one.waiting()).toEqual([{ waits: first, tool: 'pay', arguments: { amount: 5 } }]),
    120_000,
  );
  await ledger.relayAgain();
  const second = await request('second');
  await eventually(() => expect(one.waiting().map(({ waits }) => waits)).toContain(second), 120_000);
  expect(one.waiting()).toHaveLength(2);
  await one.end();
  const third = await request('third');
  const two = start(group);
  await eventually(() => expect(two.waiting().map(({ waits }) => waits)).toContain(third), 120_000);
}, 400_000);

it('a NestJS microservice tells about what waits once, in a group of its own, and goes on after a restart', async () => {
  const { file: program, remove } = compiledNest();
  running.push({ end: async () => remove() });
  const decided = await request('nest-decided');
  await ledger.respond(decided, { decision: { type: 'deny' } });
  await ledger.publishForged('ApprovalRequested', { approvalId: 'apr_forged_2' }, 'forged', { position: 999_999 });
  const first = await request('nest-first');
  const group = `nest-${randomUUID()}`;
  const one = start(group, program);
  const toldBy = (consumer: { readonly waiting: () => readonly { readonly waits: string }[] }) =>
    consumer.waiting().map(({ waits }) => waits);
  await eventually(() => expect(toldBy(one)).toContain(first), 120_000);
  await ledger.relayAgain();
  const second = await request('nest-second');
  await eventually(() => expect(toldBy(one)).toContain(second), 120_000);
  expect(toldBy(one).filter((told) => told === first)).toHaveLength(1);
  expect(toldBy(one)).not.toContain(decided);
  expect(toldBy(one)).not.toContain('apr_forged_2');
  await one.end();
  const third = await request('nest-third');
  const two = start(group, program);
  await eventually(() => expect(toldBy(two)).toContain(third), 120_000);
}, 400_000);
