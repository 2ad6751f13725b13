import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '@countersign/message-bus/testing';
import { createWorker } from '@countersign/worker-sdk';
import { kafka } from '@countersign/worker-sdk/kafka';
import { buildGo, describeWithGo, mailsIn, runGo, type GoProgram } from '../go-examples.ts';
import { startKafkaBroker } from '../kafka-broker/broker.ts';
import { openLedgerBehindKafka, type LedgerBehindKafka } from './worker-sdk/ledger-behind-kafka.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-go-kafka-'));
const keyFile = join(folder, 'key.pem');
let brokers: readonly string[];
let ledger: LedgerBehindKafka;

beforeAll(async () => {
  buildGo(folder, 'kafka');
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const { x = '' } = publicKey.export({ format: 'jwk' });
  const key = { kty: 'OKP', crv: 'Ed25519', x } as const;
  const owner = { tenant: 'default', principal: 'billing', agentIds: ['signed-*'] };
  ({ brokers } = await startKafkaBroker());
  const keys = [{ kid: 'key-1', publicKey: key, ...owner }];
  ledger = await openLedgerBehindKafka(brokers, `go-${randomUUID()}`, { keys });
}, 240_000);
afterAll(async () => {
  await ledger.close();
  rmSync(folder, { recursive: true, force: true });
});

const outboxOf = (runId: string): string => join(folder, `${runId}.txt`);

/** Runs the example. Its one mail needs approval. */
const request = (runId: string, ...options: readonly string[]): GoProgram =>
  requestWith('agent-token', runId, ...options);

function requestWith(token: string, runId: string, ...options: readonly string[]): GoProgram {
  const args = ['-brokers', brokers.join(','), '-prefix', ledger.prefix, '-url', ledger.url, '-run', runId];
  const env = { COUNTERSIGN_TOKEN: token, COUNTERSIGN_RESOLVER_TOKEN: 'worker-token' };
  return runGo(join(folder, 'kafka'), [...args, '-outbox', outboxOf(runId), ...options], env);
}
const press = 'press@example.org';

describeWithGo(() => {
  it('asks over Kafka, hears that a person agreed, and runs the tool', async () => {
    const runId = randomUUID();
    const program = request(runId, press);
    await ledger.respondTo(runId, { decision: { type: 'approve' } });
    expect(await program.ended).toMatchObject({ code: 0, results: [{ state: 'succeeded' }] });
    expect(mailsIn(outboxOf(runId))).toEqual([press]);
  });

  it('hears that a person denied, and runs nothing', async () => {
    const runId = randomUUID();
    const program = request(runId, press);
    await ledger.respondTo(runId, { decision: { type: 'deny' }, reason: 'not today' });
    const { results } = await program.ended;
    expect(results).toMatchObject([{ state: 'denied', text: expect.stringContaining('not today') }]);
    expect(mailsIn(outboxOf(runId))).toEqual([]);
  });

  it('hears a refusal that the ledger has recorded, and none that only the topic has', async () => {
    const runId = randomUUID();
    const first = request(runId, press);
    await eventually(() => expect(ledger.seen.filter(({ key }) => key === runId)).toHaveLength(1));
    const refusal = { requestId: runId, code: 'forbidden', detail: 'forged', toolCallIds: [] };
    await ledger.publishForged('RequestRefused', refusal, runId);
    await ledger.respondTo(runId, { decision: { type: 'approve' } });
    expect(await first.ended).toMatchObject({ code: 0, results: [{ state: 'succeeded' }] });
    const signing = ['-kid', 'key-1', '-key', keyFile];
    const other = await requestWith('billing-token', `${runId}-2`, '-agent', 'not-signed', ...signing, press).ended;
    expect(other).toMatchObject({ code: 1, log: expect.stringContaining('forbidden') });
  });

  it('signs its requests: they belong to the principal of the key', async () => {
    const runId = randomUUID();
    const program = request(runId, '-agent', 'signed-1', '-kid', 'key-1', '-key', keyFile, press);
    await ledger.respondTo(runId, { decision: { type: 'approve' } });
    expect(await program.ended).toMatchObject({ code: 0, results: [{ state: 'succeeded' }] });
    const answer = await fetch(`${ledger.url}/v1/runs/${runId}`, { headers: { authorization: 'Bearer ann-token' } });
    expect(await answer.json()).toMatchObject({ calls: [{ approval: { requestedBy: 'billing' } }] });
  });

  it('puts a run where the SDK puts it, so that its messages keep their order', async () => {
    // Fixed names, which are known to be in different partitions.
    const runIds = ['place-1', 'place-2', 'place-3', 'place-4'];
    const worker = createWorker({
      kafka: kafka({ brokers, topicPrefix: ledger.prefix }),
      url: ledger.url,
      token: 'agent-token',
      agentId: 'agent',
      tools: [],
    });
    const programs = runIds.map((runId) => request(runId, press));
    await eventually(() => expect(ledger.seen.filter(({ key }) => runIds.includes(key ?? ''))).toHaveLength(4));
    await Promise.all(runIds.map((runId) => worker.cancelRun(runId, 'seen enough')));
    await worker.close();
    for (const { ended } of programs) expect((await ended).results).toMatchObject([{ state: 'cancelled' }]);
    const partitionsOf = (runId: string) =>
      ledger.seen.filter(({ key }) => key === runId).map(({ partition }) => partition);
    await eventually(() => {
      for (const runId of runIds) expect(partitionsOf(runId)).toEqual([partitionsOf(runId)[0], partitionsOf(runId)[0]]);
    });
    expect(new Set(runIds.map((runId) => partitionsOf(runId)[0])).size).toBeGreaterThan(1);
  });
});
