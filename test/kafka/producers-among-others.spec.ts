import { generateKeyPairSync } from 'node:crypto';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Message, OutgoingMessage, Subscription } from '@countersign/message-bus';
import { eventually } from '@countersign/message-bus/testing';
import { createRequestSignature } from '@countersign/ledger/testing';
import { openLedgerCluster } from './ledger/ledger-cluster.ts';
import type { LedgerCluster } from './ledger/ledger-cluster.ts';
import { freshPrefix, openedWithTopics } from './opened.ts';

const pairs = { billing: generateKeyPairSync('ed25519'), evil: generateKeyPairSync('ed25519') };
type Sender = keyof typeof pairs;
const keys = (['billing', 'evil'] as const).map((kid) => {
  const publicKey = pairs[kid].publicKey.export({ format: 'jwk' }) as { kty: 'OKP'; crv: 'Ed25519'; x: string };
  return { kid, principal: kid, agentIds: [], publicKey };
});

describe('a producer among others on Kafka', () => {
  let cluster: LedgerCluster;
  afterEach(() => cluster.close());

  let sent = 0;
  const signed = async (kid: Sender, ce_type: string, data: object, key: string): Promise<OutgoingMessage> => {
    const { requests } = cluster.kafka.topics.names;
    const value = JSON.stringify(data);
    const ce_id = `${kid}-${String((sent += 1))}`;
    const claims = { ce_id, ce_type, iat: Math.floor(Date.now() / 1000), aud: `default/${requests}` };
    const signature = await createRequestSignature(value, claims, {
      kid,
      alg: 'EdDSA',
      privateKey: pairs[kid].privateKey,
    });
    const event = { 'content-type': 'application/json', ce_specversion: '1.0', ce_source: '/test', ce_id, ce_type };
    return { key, value, headers: { ...event, 'countersign-signature': signature } };
  };
  const publish = async (messages: readonly Promise<OutgoingMessage>[]): Promise<void> =>
    cluster.kafka.publisher.publish(cluster.kafka.topics.names.requests, await Promise.all(messages));
  /** Who caused each event, in the order of the log. */
  const senders = async (): Promise<readonly string[]> =>
    (await cluster.events()).flatMap(({ type, data }) => {
      if (type === 'RequestRefused') return (data as { principal?: string }).principal ?? 'nobody';
      return type === 'ToolCallRequested' ? (data as { requestedBy: string }).requestedBy : [];
    });
  const calls = [{ toolCallId: 'c', toolName: 'delete_file', arguments: {} }];

  it.each([
    [
      'waits for no message of another about an unknown call, under the same key',
      (n: number) =>
        signed('evil', 'ApprovalRequested', { runId: 'run-1', toolCallId: `unknown-${String(n)}` }, 'run-1'),
    ],
    [
      'waits for no message of another that is refused, though many come first under the same key',
      (n: number) =>
        signed('evil', 'ToolCallRequested', { runId: n % 2 === 0 ? 'run-1' : 'run-2', agentId: 'x', calls }, 'run-1'),
    ],
  ])('%s', async (_, flood) => {
    cluster = await openLedgerCluster({ partitions: 1, keys });
    await publish([
      ...Array.from({ length: 90 }, (_one, n) => flood(n)),
      signed('billing', 'ToolCallRequested', { runId: 'run-1', calls }, 'run-1'),
    ]);
    await cluster.startLedger();
    await eventually(async () => expect(await senders()).toHaveLength(91));
    // It came last, and was not handled last.
    expect((await senders()).indexOf('billing')).toBeLessThan(90);
  });
});

it('a group on Kafka reads no further while it holds as many bytes as it may, and loses nothing', async () => {
  const kafka = await openedWithTopics({ topicPrefix: freshPrefix() }, { partitions: 1 });
  const topic = kafka.topics.names.requests;
  const value = Buffer.alloc(3 * 1024 * 1024, 'x');
  const ids = Array.from({ length: 8 }, (_, n) => String(n));
  for (const ce_id of ids) await kafka.publisher.publish(topic, [{ key: ce_id, value, headers: { ce_id } }]);
  const [handled, waiting]: [string[], (() => void)[]] = [[], []];
  let isHeld = true;
  const onMessage = async ({ headers }: Message): Promise<void> => {
    if (isHeld) await new Promise<void>((resolve) => waiting.push(resolve));
    handled.push(headers['ce_id'] ?? '');
  };
  const subscribe = (inFlightBytesMax: number): Subscription =>
    kafka.bus.subscribe({ group: freshPrefix(), topics: [topic], inFlightBytesMax, onMessage });
  const [bounded, other] = [subscribe(8 * 1024 * 1024), subscribe(1024 * 1024 * 1024)];
  // The other group shows that everything could have been read by now.
  await eventually(() => expect([bounded, other].map((each) => each.status().inFlight)).toEqual([3, 8]));
  isHeld = false;
  for (const release of waiting) release();
  await eventually(() => expect(handled.toSorted()).toEqual([...ids, ...ids].toSorted()));
  await kafka.close();
});
