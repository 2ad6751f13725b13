import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import type { Runner } from '../runner.js';
import type { DeadLettersOptions } from './dead-letters.js';
import { addBackup } from './backup-options.js';
import { addKeys } from './keys-options.js';
import { addPolicy } from './policy-options.js';
import { addStore } from './store-options.js';
import type { DescribeOptions } from './topics.js';

const brokers = `
The brokers are those of COUNTERSIGN_KAFKA_BROKERS (host:port,…), the topics
those of COUNTERSIGN_TOPIC_PREFIX (default countersign).`;

/** The commands of the operator. They ask no server: the environment names the files and servers that they work on. */
export function addOperateCommands(program: Command, runner: Runner): void {
  addTopics(program, runner);
  addDeadLetters(program, runner);
  addProjector(program, runner);
  addPolicy(program, runner);
  addChannels(program, runner);
  addStore(program, runner);
  addKeys(program, runner);
  addBackup(program, runner);
}

function addChannels(program: Command, runner: Runner): void {
  const channels = program
    .command('channels')
    .description('check the channels file, and try a channel')
    .helpCommand(false)
    .addHelpText(
      'after',
      '\nExamples:\n  countersign channels check channels.yaml\n  countersign channels test ops-slack',
    );
  channels
    .command('check')
    .description('report all errors of a channels file at once; connects to nothing, exits with 5 when there are any')
    .argument('<file>', 'the channels file; its secrets must be set in the environment')
    .addHelpText(
      'after',
      '\nExamples:\n  countersign channels check channels.yaml\n  countersign channels check channels.yaml --json',
    )
    .action(async (file: string, _options: unknown, command: Command) =>
      runner.operating(command, async (output) => (await import('./channels.js')).checkChannels(output, file)),
    );
  channels
    .command('test')
    .description('send a message that says it is a test')
    .argument('<id>', 'a channel of COUNTERSIGN_CHANNELS')
    .addHelpText(
      'after',
      '\nExamples:\n  COUNTERSIGN_CHANNELS=channels.yaml countersign channels test ops-slack\n  countersign channels test mail --json',
    )
    .action(async (id: string, _options: unknown, command: Command) =>
      runner.operating(command, async (output) => (await import('./channels.js')).testChannel(output, id)),
    );
}

function addTopics(program: Command, runner: Runner): void {
  const topics = program
    .command('topics')
    .description('create and describe the topics on Kafka')
    .helpCommand(false)
    .addHelpText('after', '\nExamples:\n  countersign topics create\n  countersign topics describe --json');
  topics
    .command('create')
    .description('create the missing topics; does not change existing ones')
    .addHelpText(
      'after',
      `${brokers}
COUNTERSIGN_TOPIC_PARTITIONS (default 12) is how many processes can share the
work, COUNTERSIGN_TOPIC_REPLICATION (default 3) how many brokers keep each
message.

Examples:
  COUNTERSIGN_KAFKA_BROKERS=kafka:9092 countersign topics create
  COUNTERSIGN_TOPIC_REPLICATION=1 countersign topics create --json`,
    )
    .action(async (_options: unknown, command: Command) =>
      runner.operating(command, async (output) => (await import('./topics.js')).createTopics(output)),
    );
  topics
    .command('allow')
    .description('grant the users worker, ledger, relay, projector, resolver, notifier and operator their rights')
    .addHelpText(
      'after',
      `${brokers}
Needs a user that may alter the cluster. Removes no rights. docs/kafka.md
lists the rights.

Examples:
  COUNTERSIGN_KAFKA_BROKERS=kafka:9092 countersign topics allow
  countersign topics allow --json`,
    )
    .action(async (_options: unknown, command: Command) =>
      runner.operating(command, async (output) => (await import('./topics.js')).allowTopics(output)),
    );
  topics
    .command('describe')
    .description('describe the topics; exits with 6 when one is missing')
    .option('--asyncapi', 'print the AsyncAPI document of the topics instead; asks no broker')
    .addHelpText(
      'after',
      `${brokers}

Examples:
  countersign topics describe
  countersign topics describe --asyncapi > asyncapi.json`,
    )
    .action(async (options: DescribeOptions, command: Command) =>
      runner.operating(command, async (output) => (await import('./topics.js')).describeTopics(output, options)),
    );
}

const whose = `
When COUNTERSIGN_KAFKA_BROKERS is set, the dead letters are those on Kafka. On
one machine they are in COUNTERSIGN_DATA, which must not be in use: stop the
server first. A message replayed there is handled at the next start.`;

function addDeadLetters(program: Command, runner: Runner): void {
  const deadLetters = program
    .command('dead-letters')
    .description('list, show and replay messages that could not be handled')
    .helpCommand(false)
    .addHelpText(
      'after',
      `${whose}\n\nExamples:\n  countersign dead-letters list\n  countersign dead-letters replay 0-42 --json`,
    );
  deadLetters
    .command('list')
    .description('list the dead letters, oldest first')
    .option('--group <name>', 'of this consumer group only')
    .option('--limit <n>', 'at most this many (default 100)', limit)
    .addHelpText(
      'after',
      `${whose}\n\nExamples:\n  countersign dead-letters list\n  countersign dead-letters list --json | jq -r .id`,
    )
    .action(async (options: DeadLettersOptions, command: Command) =>
      runner.operating(command, async (output) => (await import('./dead-letters.js')).list(output, options)),
    );
  for (const [name, description] of [
    ['show', 'show a dead letter: the reason, its headers and its bytes'],
    ['replay', 'give a dead letter to its consumer group again; it returns if it fails again'],
  ] as const) {
    deadLetters
      .command(`${name} <id>`)
      .description(description)
      .addHelpText(
        'after',
        `${whose}\n\nExamples:\n  countersign dead-letters ${name} 0-42\n  countersign dead-letters ${name} 0-42 --json`,
      )
      .action(async (id: string, _options: unknown, command: Command) =>
        runner.operating(command, async (output) => (await import('./dead-letters.js'))[name](output, id)),
      );
  }
}

const where = `
The read model is read-model.db in COUNTERSIGN_DATA (default ./data); the log is
EventStoreDB when COUNTERSIGN_EVENTSTORE_URL is set, else events.db in the same
folder, which must not be in use: stop the server first.`;

function addProjector(program: Command, runner: Runner): void {
  const projector = program
    .command('projector')
    .description('compare the read model with the log, or rebuild it')
    .helpCommand(false)
    .addHelpText(
      'after',
      `${where}\n\nExamples:\n  countersign projector verify\n  countersign projector rebuild --json`,
    );
  for (const [name, description, codes] of [
    [
      'verify',
      'fold the whole log again and compare; changes nothing',
      'Exits with 0 when they are the same, with 5 when they differ.',
    ],
    ['rebuild', 'replace the read model by a new fold of the whole log', 'The old read model stays until it is done.'],
  ] as const) {
    projector
      .command(name)
      .description(description)
      .addHelpText(
        'after',
        `${where}\n\n${codes}\n\nExamples:\n  countersign projector ${name}\n  COUNTERSIGN_DATA=/srv/data countersign projector ${name} --json`,
      )
      .action(async (_options: unknown, command: Command) =>
        runner.operating(command, async (output) => (await import('./projector.js'))[name](output)),
      );
  }
}

function limit(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number from 1 to 999999.');
}
