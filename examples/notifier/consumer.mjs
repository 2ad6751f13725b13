// Your own notifier: tells about each approval that waits, in a group of its own. Whatever you do in `tell`, the events only say when
// to look: the approval itself is read over HTTP.
//
//   npm install kafkajs
//   COUNTERSIGN_TOKEN=… COUNTERSIGN_KAFKA_BROKERS=127.0.0.1:9092 node consumer.mjs
//
// On a broker that asks for a password: KAFKA_USERNAME, KAFKA_PASSWORD, KAFKA_MECHANISM (plain, scram-sha-256 or scram-sha-512) and,
// with TLS, KAFKA_SSL=true.
import { Kafka, logLevel } from 'kafkajs';

const {
  COUNTERSIGN_URL: url = 'http://127.0.0.1:7400',
  COUNTERSIGN_TOKEN: token,
  GROUP: groupId = 'my-notifier',
} = process.env;
const { COUNTERSIGN_KAFKA_BROKERS: brokers = '127.0.0.1:9092', COUNTERSIGN_TOPIC_PREFIX: prefix = 'countersign' } =
  process.env;
const {
  KAFKA_USERNAME: username,
  KAFKA_PASSWORD: password,
  KAFKA_MECHANISM: mechanism = 'scram-sha-512',
} = process.env;

const kafka = new Kafka({
  clientId: groupId,
  brokers: brokers.split(','),
  ssl: process.env.KAFKA_SSL === 'true',
  ...(username !== undefined && { sasl: { mechanism, username, password } }),
  logLevel: logLevel.ERROR,
});
const consumer = kafka.consumer({ groupId });

// An event may come twice, also after a restart: keep what was told where it outlives the process, if twice is too often.
const told = new Set();

async function read(path, position) {
  const headers = {
    Authorization: `Bearer ${token}`,
    ...(position !== undefined && { 'Countersign-Position': position }),
  };
  const response = await fetch(`${url}${path}`, { headers });
  if (response.ok) return response.json();
  // A forged event may name a position that the log never reaches.
  if (position !== undefined && [409, 503].includes(response.status)) return read(path);
  if (response.status === 404) return undefined;
  throw new Error(`${path}: ${response.status}`);
}

function tell(approval) {
  console.log(JSON.stringify({ waits: approval.approvalId, tool: approval.toolName, arguments: approval.arguments }));
}

await consumer.connect();
await consumer.subscribe({ topic: `${prefix}.events.v1`, fromBeginning: process.env.FROM_BEGINNING === 'yes' });
await consumer.run({
  // What it throws is tried again, and no later message of the partition is read before. The offset is committed after it.
  eachMessage: async ({ message: { headers, value } }) => {
    const id = String(headers.ce_id);
    if (String(headers.ce_type) !== 'ApprovalRequested' || value === null || told.has(id)) return;
    const { data } = JSON.parse(value);
    if (data === null) return;
    const path = `/v1/approvals/${encodeURIComponent(data.approvalId)}`;
    const approval = await read(path, String(headers.ce_sequence));
    if (approval?.state === 'pending') tell(approval);
    told.add(id);
  },
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void consumer.disconnect());
