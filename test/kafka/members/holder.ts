// node holder.ts BROKERS PREFIX GROUP: becomes leader, and stores the progress that it is told, one line per message in
// each direction.
import { createInterface } from 'node:readline';
import { openKafka } from '@countersign/message-bus/kafka';
import { createLog, createSystemIds, systemClock } from '@countersign/runtime';

const [brokers = '', topicPrefix = '', group = ''] = process.argv.slice(2);
const kafka = openKafka({
  brokers: brokers.split(','),
  clientId: 'holder',
  topicPrefix,
  clock: systemClock,
  ids: createSystemIds(),
  log: createLog({ level: 'silent' }),
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const turn = await kafka.exclusiveProgress(group, { sessionTimeoutMs: 6_000 }).take(new AbortController().signal);
turn.ended.addEventListener('abort', () => say('ended'));
say(`turn ${turn.progress ?? 'null'}`);
for await (const line of createInterface({ input: process.stdin })) {
  await turn.keep(line).then(
    () => say(`kept ${line}`),
    (error: unknown) => say(error instanceof Error ? error.name : String(error)),
  );
}
await kafka.close();
