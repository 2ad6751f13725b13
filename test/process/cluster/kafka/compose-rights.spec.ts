import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { rightsEntries } from '@countersign/message-bus/kafka';
import { topicNames } from '@countersign/message-bus';
import { beforeAll, describe, expect, test } from '@jest/globals';
import kafkajs from 'kafkajs';
import type { Kafka } from 'kafkajs';
import { impatientClient, refusalOf, tryToPublish, tryToRead } from '../../../kafka-broker/attempts.ts';
import { untilTold } from '../../../kafka-broker/consumer-of-guide.ts';
import { documentedRights } from '../../../kafka-broker/rights.ts';
import { cleanUpAfterAll } from '../../harness/cleanup.js';
import { eventually } from '../../harness/wait.js';
import { credentialsOf } from './compose-credentials.js';
import { openMachine } from './compose-processes.js';
import type { Machine } from './compose-processes.js';

cleanUpAfterAll();

const prefix = 'compose-rights';
const { requests, events, deadLetters, checkpoints } = topicNames(prefix);
const other = `${prefix}.other`;
const refusedTopic = 'TOPIC_AUTHORIZATION_FAILED';
// The client reports that it finds no coordinator when the broker refuses the group.
const refusedGroup = /KafkaJSGroupCoordinatorNotFound|GROUP_AUTHORIZATION_FAILED/;

let machine: Machine;

/** A client of a user, at the published port. */
function clientOf(username: string, password = passwordOf(username)): Kafka {
  return impatientClient({ brokers: [machine.broker.outside], sasl: { mechanism: 'plain', username, password } });
}

const refusal = (work: Promise<unknown>): Promise<string> => work.then(() => 'done', refusalOf);

function passwordOf(user: string): string {
  const volume = user === 'health' ? 'credentials-kafka' : `credentials-${user}`;
  const name = user === 'health' ? 'health-password' : 'kafka-password';
  return readFileSync(join(machine.folderOf(volume), name), 'utf8').trim();
}

beforeAll(async () => {
  machine = await openMachine({ COUNTERSIGN_TOPIC_PREFIX: prefix, COUNTERSIGN_TOPIC_PARTITIONS: '1' });
  for (const once of ['rights', 'topics', 'tokens']) await machine.runToEnd(once);
  const admin = clientOf('admin').admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic: other, numPartitions: 1 }], waitForLeaders: false });
  await admin.disconnect();
  // The first group of a broker waits until the offsets topic is created.
  expect(await tryToPublish(clientOf('relay'), events)).toBe('done');
  const read = (): Promise<string> => tryToRead(clientOf('worker'), events, `${prefix}.worker.first`);
  await eventually('the first group', async () => ((await read()) === 'done' ? true : undefined));
}, 240_000);

test('the credentials are files that their owner alone can read, and a second start changes none of them', async () => {
  const volumes = machine.file.services.find(({ name }) => name === 'credentials')?.volumes ?? [];
  const readAll = (): readonly (readonly [file: string, mode: number, text: string])[] =>
    volumes
      .filter(({ source }) => source.startsWith('credentials-'))
      .flatMap(({ source }) => {
        const folder = machine.folderOf(source);
        return readdirSync(folder).map((name) => {
          const file = join(folder, name);
          return [`${source}/${name}`, statSync(file).mode & 0o777, readFileSync(file, 'utf8')] as const;
        });
      });
  const before = readAll();
  expect(before.length).toBe(44);
  expect(before.filter(([, mode]) => mode !== 0o600)).toEqual([]);
  const printed = await machine.runToEnd('credentials');
  expect(readAll()).toEqual(before);
  for (const [, , text] of before) expect(printed).not.toContain(text.trim());
});

test('the key of the first worker is registered for the principal of the agent token', async () => {
  const keys = readFileSync(join(machine.folderOf('credentials-requests'), 'keys.json'), 'utf8');
  const { kafka } = await credentialsOf(machine);
  expect(JSON.parse(keys)).toMatchObject([{ kid: kafka.signing.kid, principal: 'agent', agentIds: ['*'] }]);
  expect(keys).not.toContain('"d"');
});

describe('the user of the workers', () => {
  test('writes requests and reads events', async () => {
    const { sasl } = (await credentialsOf(machine)).kafka;
    expect(await tryToPublish(clientOf(sasl.username, sasl.password), requests)).toBe('done');
    expect(await tryToRead(clientOf(sasl.username, sasl.password), events, `${prefix}.worker.1`)).toBe('done');
  });

  test.each([events, deadLetters, checkpoints, other])('cannot write %s', async (topic) => {
    expect(await tryToPublish(clientOf('worker'), topic)).toBe(refusedTopic);
  });

  test.each([requests, deadLetters, other])('cannot read %s', async (topic) => {
    expect(await tryToRead(clientOf('worker'), topic, `${prefix}.worker.2`)).toBe(refusedTopic);
  });

  test.each([`${prefix}-ledger`, `${prefix}-relay`, `${prefix}-resolver`, 'elsewhere'])(
    'cannot join the group %s',
    async (group) => {
      expect(await tryToRead(clientOf('worker'), events, group)).toMatch(refusedGroup);
    },
  );

  test('runs the consumer of the guide', async () => {
    const producer = clientOf('relay').producer();
    await producer.connect();
    const env = {
      ...{ KAFKA_USERNAME: 'worker', KAFKA_PASSWORD: passwordOf('worker'), KAFKA_MECHANISM: 'plain' },
      ...{ COUNTERSIGN_KAFKA_BROKERS: machine.broker.outside, COUNTERSIGN_TOPIC_PREFIX: prefix },
      GROUP: `${prefix}.worker.my-notifier`,
    };
    const program = join(import.meta.dirname, '../../../../examples/notifier/consumer.mjs');
    await untilTold(program, env, (message) => producer.send({ topic: events, messages: [message] }));
    await producer.disconnect();
  });

  test('can neither make or delete topics, nor give itself rights', async () => {
    const admin = clientOf('worker').admin();
    await admin.connect();
    const refused = /^(TOPIC|CLUSTER)_AUTHORIZATION_FAILED$/;
    expect(await refusal(admin.createTopics({ topics: [{ topic: `${prefix}.mine` }] }))).toMatch(refused);
    expect(await refusal(admin.deleteTopics({ topics: [requests] }))).toMatch(refused);
    const everything = {
      ...{ resourceType: kafkajs.AclResourceTypes.TOPIC, resourceName: '*', principal: 'User:worker', host: '*' },
      resourcePatternType: kafkajs.ResourcePatternTypes.LITERAL,
      ...{ operation: kafkajs.AclOperationTypes.ALL, permissionType: kafkajs.AclPermissionTypes.ALLOW },
    };
    expect(await refusal(admin.createAcls({ acl: [everything] }))).toMatch(refused);
    await admin.disconnect();
  });
});

test('the broker refuses a client without a password, and one with a wrong password', async () => {
  const publish = (client: Kafka): Promise<string> => tryToPublish(client, requests);
  for (const address of [machine.broker.inside, machine.broker.outside]) {
    expect(await publish(impatientClient({ brokers: [address] }))).not.toBe('done');
  }
  expect(await publish(clientOf('worker', 'guessed'))).toMatch(/[Aa]uthentication failed/);
});

test('the user of the health check signs in and may do nothing', async () => {
  const admin = clientOf('health').admin();
  await admin.connect();
  expect((await admin.describeCluster()).brokers.length).toBe(1);
  expect(await admin.listTopics()).toEqual([]);
  await admin.disconnect();
  expect(await tryToPublish(clientOf('health'), requests)).toBe(refusedTopic);
});

test('`countersign topics allow` gives the rights of the guide, and no others', () => {
  const text = (entry: object): string => JSON.stringify(Object.entries(entry).toSorted());
  const given = rightsEntries(prefix, topicNames(prefix)).map(text).toSorted();
  expect(given).toEqual([...documentedRights(prefix).values()].flat().map(text).toSorted());
});
