import type { TopicDescription } from '@countersign/message-bus/kafka';
import { printable } from '@countersign/text';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Output } from '../invocation.js';
import { safeJson } from '../text/printable.js';
import type { Line } from '../view/line.js';
import { withKafka } from './kafka.js';

/** The output options of `topics describe`. */
export interface DescribeOptions {
  readonly asyncapi?: boolean;
}

const dayMs = 86_400_000;

/** `countersign topics create`: creates the missing topics and reports the existing ones. */
export async function createTopics(output: Output): Promise<ExitCode> {
  return withKafka(output, async ({ kafka, partitions, replication }) => {
    const created = await kafka.topics.create({ partitions, replication });
    const topics = await kafka.topics.describe();
    output.printJson({ created, topics });
    output.print(
      ...topics.map((topic): Line => {
        const isNew = created.includes(topic.topic);
        const text = `${isNew ? 'made    ' : 'is there'}  ${describe(topic)}`;
        return isNew ? { text, tone: 'green' } : { text };
      }),
      ...topics
        .filter((topic) => !created.includes(topic.topic))
        .flatMap((topic) => differs(topic, kafka.topics.names.deadLetters, partitions, replication)),
    );
    return exitCodes.ok;
  });
}

/** `countersign topics allow`: gives each principal of the guide its rights. */
export async function allowTopics(output: Output): Promise<ExitCode> {
  return withKafka(output, async ({ kafka }) => {
    const principals = await kafka.rights.grant();
    output.printJson({ principals });
    output.print({ text: `rights given to: ${principals.join(', ')}` });
    return exitCodes.ok;
  });
}

/** `countersign topics describe`. */
export async function describeTopics(output: Output, { asyncapi = false }: DescribeOptions): Promise<ExitCode> {
  if (asyncapi) return printAsyncApi(output);
  return withKafka(output, async ({ kafka }) => {
    const topics = await kafka.topics.describe();
    const isComplete = topics.every(({ exists }) => exists);
    output.printJson({ topics });
    output.print(
      ...topics.map((topic): Line => ({ text: describe(topic), ...(topic.exists ? {} : { tone: 'red' }) })),
      ...(isComplete ? [] : [{ text: 'Make them: countersign topics create' }]),
    );
    return isComplete ? exitCodes.ok : exitCodes.notFound;
  });
}

/** The document for generators and people, on stdout in either form. */
async function printAsyncApi({ json, terminal: { env, stdout } }: Output): Promise<ExitCode> {
  const { createAsyncApiDocument } = await import('@countersign/contracts');
  const document = createAsyncApiDocument(env['COUNTERSIGN_TOPIC_PREFIX'] ?? undefined);
  stdout.write(json ? `${safeJson(document)}\n` : `${JSON.stringify(document, null, 2)}\n`);
  return exitCodes.ok;
}

function describe({
  topic,
  exists,
  partitions,
  replication,
  retentionMs,
  minInSyncReplicas,
}: TopicDescription): string {
  if (!exists) return `${printable(topic)}  missing`;
  const kept = retentionMs === undefined ? '' : `, kept ${retentionWords(retentionMs)}`;
  const inSync = minInSyncReplicas === undefined ? '' : `, at least ${String(minInSyncReplicas)} in sync`;
  return `${printable(topic)}  ${count(partitions, 'partition')}, ${count(replication, 'replica')}${inSync}${kept}`;
}

function retentionWords(ms: number): string {
  if (ms < 0) return 'for ever';
  return ms % dayMs === 0 ? count(ms / dayMs, 'day') : `${String(ms)} ms`;
}

function count(n: number, what: string): string {
  return `${String(n)} ${what}${n === 1 ? '' : 's'}`;
}

/** An existing topic is not changed. The command reports settings that differ from the requested ones. */
function differs(
  { topic, partitions, replication }: TopicDescription,
  deadLetters: string,
  wantedPartitions: number,
  wantedReplication: number,
): Line[] {
  const isOther = (topic !== deadLetters && partitions !== wantedPartitions) || replication !== wantedReplication;
  if (!isOther) return [];
  const text = `${printable(topic)} is not as asked for (${count(wantedPartitions, 'partition')}, ${count(wantedReplication, 'replica')}); it was left as it is.`;
  return [{ text, tone: 'yellow' }];
}
