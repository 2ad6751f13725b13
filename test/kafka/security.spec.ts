import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import kafkajs from 'kafkajs';
import type { AclEntry } from 'kafkajs';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KafkaBus, KafkaOptions } from '@countersign/message-bus/kafka';
import { eventually } from '@countersign/message-bus/testing';
import { createWorker } from '@countersign/worker-sdk';
import type { KafkaOptions as WorkerKafka } from '@countersign/worker-sdk';
import { kafka as overKafka } from '@countersign/worker-sdk/kafka';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { impatientClient, tryToPublish, tryToRead } from '../kafka-broker/attempts.ts';
import { createAuthority } from '../kafka-broker/certificates.ts';
import { untilTold } from '../kafka-broker/consumer-of-guide.ts';
import { documentedRights } from '../kafka-broker/rights.ts';
import { startSecuredBroker } from '../kafka-broker/secured.ts';
import type { SecuredBroker } from '../kafka-broker/secured.ts';
import { compiledNest } from './nest-consumer.ts';
import { freshPrefix, openedKafka } from './opened.ts';
import { idOf, inTurns } from './traffic.ts';

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;
const topicPrefix = freshPrefix();
const names = { requests: `${topicPrefix}.requests.v1`, events: `${topicPrefix}.events.v1` };
const deadLetters = `${topicPrefix}.dead-letters.v1`;
const principals = [...documentedRights(topicPrefix).keys()];

const notThatTopic = /TOPIC_AUTHORIZATION_FAILED/;
// The client hides the broker's error, which may be that it does not know the group's coordinator.
const notThatGroup = /KafkaJSGroupCoordinatorNotFound/;

let broker: SecuredBroker;
const opened: KafkaBus[] = [];

beforeAll(async () => {
  broker = await startSecuredBroker();
  await broker.grantDocumentedRights(topicPrefix);
  const operator = await busOf('operator');
  await operator.topics.create({ partitions: 1, replication: 1 });
  // The first group of a broker waits until the offsets topic is created.
  await eventually(async () => expect(await publishAs('relay', names.events)).toBe('done'), 60_000);
  const read = (): Promise<string> => readAs('worker', names.events, `${topicPrefix}.worker.0`);
  await eventually(async () => expect(await read()).toBe('done'), 60_000);
}, 300_000);
afterEach(async () => {
  await Promise.all(opened.splice(0).map((kafka) => kafka.close()));
});
afterAll(() => broker.stop());

/** How a principal authenticates: by its password. */
const connectionOf = (name: string) => ({
  brokers: broker.byPassword,
  ssl: { ca: broker.authority.ca },
  sasl: broker.userOf(name),
});

/** Kafka as the product has it, in the name of a principal; some of it may be wrong. */
async function busOf(name: string, wrong: Partial<KafkaOptions> = {}): Promise<KafkaBus> {
  const kafka = await openedKafka({ ...connectionOf(name), topicPrefix, ...wrong });
  opened.push(kafka);
  return kafka;
}

function rawOf(name: string) {
  const { sasl, ...connection } = connectionOf(name);
  return impatientClient({ ...connection, sasl: sasl as { mechanism: 'plain'; username: string; password: string } });
}

const publishAs = (name: string, topic: string): Promise<string> => tryToPublish(rawOf(name), topic);
const readAs = (name: string, topic: string, groupId: string): Promise<string> =>
  tryToRead(rawOf(name), topic, groupId);

describe('with the rights of the guide', () => {
  it('the table is read whole', () => {
    const everybody = ['worker', 'ledger', 'relay', 'projector', 'resolver', 'notifier', 'notary', 'operator'];
    expect(principals).toEqual(everybody);
  });

  it.each([
    { topic: names.events, writers: ['relay'] },
    { topic: names.requests, writers: ['worker', 'operator'] },
    { topic: `${topicPrefix}.checkpoints.v1`, writers: ['notary'] },
    { topic: deadLetters, writers: ['ledger', 'projector', 'resolver', 'notifier', 'operator'] },
  ])('$topic is written only by $writers', async ({ topic, writers }) => {
    const answers = await Promise.all(principals.map(async (name) => [name, await publishAs(name, topic)] as const));
    const wanted = principals.map((name) => [
      name,
      writers.includes(name) ? 'done' : expect.stringContaining('TOPIC_AUTHORIZATION_FAILED'),
    ]);
    expect(answers).toEqual(wanted);
  });

  it.each([
    ['worker', names.requests, `${topicPrefix}.worker.1`, notThatTopic],
    ['worker', deadLetters, `${topicPrefix}.worker.2`, notThatTopic],
    ['ledger', names.events, `${topicPrefix}-ledger`, notThatTopic],
    ['resolver', names.requests, `${topicPrefix}-resolver`, notThatTopic],
    ['worker', names.events, `${topicPrefix}-ledger`, notThatGroup],
    ['worker', names.events, `${topicPrefix}-relay`, notThatGroup],
    ['resolver', names.events, `${topicPrefix}-relay`, notThatGroup],
    ['notifier', names.events, `${topicPrefix}-resolver`, notThatGroup],
    ['notary', names.events, `${topicPrefix}-relay`, notThatGroup],
  ])('%s may not read %s in the group %s', async (name, topic, group, refusal) => {
    expect(await readAs(name, topic, group)).toMatch(refusal);
  });

  it('a consumer of your own reads the events in its group, and may do nothing else', async () => {
    const [name, group] = ['my-notifier', 'my-notifier'];
    const guide = readFileSync(join(import.meta.dirname, '../../docs/kafka.md'), 'utf8');
    const typed = [
      ...guide.matchAll(/allow-principal User:my-notifier \\\n +((?:--operation \w+ )+)--(topic|group) (\S+)/g),
    ];
    const acl = typed.flatMap(([, operations = '', kind = '', resourceName = '']) =>
      [...operations.matchAll(/--operation (\w+)/g)].map(([, operation = '']) => ({
        ...{ principal: `User:${name}`, host: '*', permissionType: AclPermissionTypes.ALLOW },
        ...{ resourcePatternType: ResourcePatternTypes.LITERAL },
        resourceType: kind === 'topic' ? AclResourceTypes.TOPIC : AclResourceTypes.GROUP,
        resourceName: resourceName.replace('countersign.', `${topicPrefix}.`),
        operation: operation === 'Read' ? AclOperationTypes.READ : AclOperationTypes.DESCRIBE,
      })),
    );
    expect(acl).toHaveLength(3);
    expect(await readAs(name, names.events, group)).not.toBe('done');
    await broker.administrate((admin) => admin.createAcls({ acl }));
    await eventually(async () => expect(await readAs(name, names.events, group)).toBe('done'), 60_000);
    expect(await publishAs(name, names.events)).toContain('TOPIC_AUTHORIZATION_FAILED');
    expect(await publishAs(name, names.requests)).toContain('TOPIC_AUTHORIZATION_FAILED');
    expect(await readAs(name, names.requests, group)).toMatch(notThatTopic);
    expect(await readAs(name, names.events, `${topicPrefix}-notifier-ops`)).toMatch(notThatGroup);

    // The consumers of the guide need no more than that, and what the cluster of the compose file has is enough as well.
    const relay = await busOf('relay');
    const runs = async (program: string, user: string, groupId: string): Promise<void> => {
      const { username, password, mechanism } = broker.userOf(user);
      const env = {
        ...{ KAFKA_USERNAME: username, KAFKA_PASSWORD: password, KAFKA_MECHANISM: mechanism, KAFKA_SSL: 'true' },
        ...{ NODE_EXTRA_CA_CERTS: broker.authority.caFile, COUNTERSIGN_TOPIC_PREFIX: topicPrefix },
        ...{ COUNTERSIGN_KAFKA_BROKERS: broker.byPassword.join(), GROUP: groupId },
      };
      await untilTold(program, env, (message) => relay.publisher.publish(names.events, [message]));
    };
    const plain = join(import.meta.dirname, '../../examples/notifier/consumer.mjs');
    await runs(plain, name, group);
    await runs(plain, 'worker', `${topicPrefix}.worker.my-notifier`);
    const { file, remove } = compiledNest();
    await runs(file, name, group).finally(remove);
  });

  it('a worker hears the events by its certificate, too', async () => {
    await publishAs('relay', names.events);
    // It asks once, without retries: a rebalancing group may require one.
    const read = (): Promise<string> => readAs('worker', names.events, `${topicPrefix}.worker.2`);
    await eventually(async () => expect(await read()).toBe('done'));
    const { cert, key } = broker.authority.certify('worker');
    const byCertificate = await openedKafka({
      ...{ brokers: broker.byCertificate, ssl: { ca: broker.authority.ca, cert, key }, topicPrefix },
    });
    opened.push(byCertificate);
    await byCertificate.publisher.publish(names.requests, inTurns(1, 1));
    await expect(byCertificate.publisher.publish(names.events, inTurns(1, 1))).rejects.toThrow(/Who may do what/);
  });
});

describe('a wrong connection setting', () => {
  const other = mkdtempSync(join(tmpdir(), 'countersign-other-authority-'));
  afterAll(() => rmSync(other, { recursive: true, force: true }));
  const wrongPassword = () => ({ sasl: { ...broker.userOf('ledger'), password: 'guessed' } });
  const wrongAuthority = () => ({ ssl: { ca: createAuthority(other, 'somebody-else').ca } });

  it.each([
    ['a wrong password (PLAIN)', wrongPassword, /authentication failed[^]*COUNTERSIGN_KAFKA_SASL_MECHANISM/i],
    [
      'a wrong password (SCRAM)',
      () => ({ sasl: { ...broker.userOf('relay'), password: 'guessed' } }),
      /authentication failed[^]*COUNTERSIGN_KAFKA_SASL_MECHANISM/i,
    ],
    ['an authority that is not configured', wrongAuthority, /certificate[^]*NODE_EXTRA_CA_CERTS/],
    ['no TLS where it is wanted', () => ({ ssl: false }), /Closed connection[^]*COUNTERSIGN_KAFKA_SSL/],
    ['no user where one is wanted', () => ({ sasl: undefined }), /Closed connection[^]*COUNTERSIGN_KAFKA_SSL/],
  ])('is told with its cause and its remedy: %s', async (_, wrong, why) => {
    const { sasl, ssl = { ca: broker.authority.ca } } = { ...connectionOf('ledger'), ...wrong() } as KafkaOptions;
    const kafka = await openedKafka({ brokers: broker.byPassword, topicPrefix, ssl, ...(sasl && { sasl }) });
    opened.push(kafka);
    const { state, why: said } = await kafka.health();
    expect([state, said]).toEqual(['interrupted', expect.stringMatching(why)]);
  });

  it('a right that is missing is told, ends nothing, and works as soon as it is given', async () => {
    const fatal: Error[] = [];
    const kafka = await busOf('resolver', { onFatal: (error) => void fatal.push(error) });
    const heard: string[] = [];
    const group = `${topicPrefix}-of-nobody`;
    kafka.bus.subscribe({ group, topics: [names.events], onMessage: (message) => void heard.push(idOf(message)) });
    const why = expect.stringMatching(/-of-nobody: [^]*Who may do what/) as unknown;
    await eventually(() => expect(kafka.status()).toMatchObject({ state: 'interrupted', why }));
    const turns = kafka.exclusiveProgress(`${topicPrefix}-relay`);
    const stopped = new AbortController();
    const turn = turns.take(stopped.signal).catch(() => undefined);
    const right = allow('resolver', AclOperationTypes.READ, AclResourceTypes.GROUP, group);
    await broker.administrate((admin) => admin.createAcls({ acl: [right] }));
    await publishAs('relay', names.events);
    await eventually(() => expect(heard.length).toBeGreaterThan(0));
    // The relay's leadership is separate from the resolver's, and the status shows that too.
    const line = expect.stringMatching(/-relay: [^]*Who may do what/) as unknown;
    await eventually(() => expect(kafka.status()).toMatchObject({ state: 'interrupted', why: line }));
    stopped.abort(new Error('enough'));
    await turn;
    expect(fatal).toEqual([]);
  });

  const stepOf = async (kafka: Partial<WorkerKafka>, answerWithinMs = 60_000) => {
    const { fetch } = createFakeCountersign();
    const worker = createWorker({
      ...{ url: 'http://ledger.test', token: 't', agentId: 'agent', fetch, tools: [] },
      kafka: overKafka({ ...connectionOf('worker'), topicPrefix, answerWithinMs, ...kafka }),
    });
    try {
      return await worker.cancelRun('run-1', 'tried');
    } finally {
      await worker.close();
    }
  };

  it.each([
    ['a wrong password', wrongPassword, 'unauthenticated', /kafka\.sasl/],
    ['an authority that is not configured', wrongAuthority, 'unreachable', /not trusted[^]*kafka\.ssl\.ca/],
  ])('is told to the author of an agent at once: %s', async (_, wrong, code, message) => {
    await expect(stepOf(wrong())).rejects.toMatchObject({ code, message: expect.stringMatching(message) as unknown });
  });

  it.each([
    ['no TLS where it is wanted', () => ({ ssl: false }), 20_000, /Closed connection[^]*kafka\.ssl/],
    ['a group that it may not read', () => ({ sasl: broker.userOf('operator') }), 20_000, /Read the groups <prefix>/],
  ])('is told to the author of an agent when patience is over: %s', async (_, wrong, patienceMs, why) => {
    const message = expect.stringMatching(why) as unknown;
    await expect(stepOf(wrong(), patienceMs)).rejects.toMatchObject({ code: 'unreachable', message });
  });

  it('is told to the author of an agent at once: a topic that it may not write', async () => {
    const { DESCRIBE, READ } = AclOperationTypes;
    const see = allow('notifier', DESCRIBE, AclResourceTypes.TOPIC, names.requests);
    const hear = allow('notifier', READ, AclResourceTypes.GROUP, `${topicPrefix}.worker.`);
    const acl = [see, { ...hear, resourcePatternType: ResourcePatternTypes.PREFIXED }];
    await broker.administrate((admin) => admin.createAcls({ acl }));
    const message = expect.stringContaining('A worker needs Write') as unknown;
    await expect(stepOf({ sasl: broker.userOf('notifier') })).rejects.toMatchObject({ code: 'forbidden', message });
  });
});

function allow(
  name: string,
  operation: kafkajs.AclOperationTypes,
  resourceType: kafkajs.AclResourceTypes,
  resourceName: string,
): AclEntry {
  return {
    ...{ principal: `User:${name}`, host: '*', permissionType: AclPermissionTypes.ALLOW },
    ...{ operation, resourceType, resourceName, resourcePatternType: ResourcePatternTypes.LITERAL },
  };
}
