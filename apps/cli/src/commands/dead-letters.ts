import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { DeadLetter, DeadLetters } from '@countersign/message-bus';
import { agoWords, printable } from '@countersign/text';
import { localError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Output } from '../invocation.js';
import type { Line } from '../view/line.js';
import { wrapped } from '../view/line.js';
import { withKafka } from './kafka.js';

/** Selects the dead letters to list. */
export interface DeadLettersOptions {
  readonly group?: string;
  readonly limit?: number;
}

/** `countersign dead-letters list`. */
export async function list(output: Output, { group, limit = 100 }: DeadLettersOptions): Promise<ExitCode> {
  return withDeadLetters(output, async (deadLetters) => {
    const letters = await deadLetters.list({ limit, ...(group === undefined ? {} : { group }) });
    for (const letter of letters) output.printJson(toJson(letter));
    if (letters.length === 0) output.note('There are no dead letters.');
    output.print(...letters.flatMap((letter) => summary(letter, output)));
    return exitCodes.ok;
  });
}

/** `countersign dead-letters show`. */
export async function show(output: Output, id: string): Promise<ExitCode> {
  return withDeadLetters(output, async (deadLetters) => {
    const letter = await deadLetters.show(id);
    if (letter === undefined) throw noSuchLetter(id);
    output.printJson(toJson(letter));
    output.print(
      ...summary(letter, output),
      { text: `key      ${printable(letter.key ?? '(none)')}` },
      ...Object.entries(letter.headers).map(([name, value]) => ({
        text: `header   ${printable(name)}: ${printable(value)}`,
      })),
      { text: '' },
      ...wrapped(printable(textOf(letter.value)), output.columns),
    );
    return exitCodes.ok;
  });
}

/** `countersign dead-letters replay`. */
export async function replay(output: Output, id: string): Promise<ExitCode> {
  return withDeadLetters(output, async (deadLetters) => {
    if (!(await deadLetters.replay(id))) throw noSuchLetter(id);
    output.printJson({ id, replayed: true });
    output.print({ text: `${id} was given to its consumer group once more.`, tone: 'green' });
    return exitCodes.ok;
  });
}

function noSuchLetter(id: string): Error {
  return localError(
    'notFound',
    'not-found',
    `There is no dead letter ${printable(id)}.`,
    'See `countersign dead-letters list`.',
  );
}

async function withDeadLetters<T>(output: Output, work: (deadLetters: DeadLetters) => Promise<T>): Promise<T> {
  const { env } = output.terminal;
  if ((env['COUNTERSIGN_KAFKA_BROKERS'] ?? '') !== '') {
    return withKafka(output, ({ kafka }) => work(kafka.bus.deadLetters));
  }
  return withFolder(resolve(env['COUNTERSIGN_DATA'] ?? './data'), work);
}

/** The embedded bus keeps its dead letters in the data folder, which one process owns at a time. */
async function withFolder<T>(folder: string, work: (deadLetters: DeadLetters) => Promise<T>): Promise<T> {
  if (!existsSync(join(folder, 'events.db'))) {
    const detail = `No dead letters are kept in ${folder}, and COUNTERSIGN_KAFKA_BROKERS is not set.`;
    throw localError('notFound', 'no-log', detail, 'Set COUNTERSIGN_DATA, or COUNTERSIGN_KAFKA_BROKERS in a cluster.');
  }
  const { createLog, systemClock } = await import('@countersign/runtime');
  const { EventStoreUnavailableError, openEmbeddedEventStore } = await import('@countersign/event-store');
  const { createEmbeddedMessageBus, topicNames } = await import('@countersign/message-bus');
  const world = { clock: systemClock, log: createLog({ level: 'silent' }) };
  try {
    const store = await openEmbeddedEventStore({ folder, ...world });
    const bus = createEmbeddedMessageBus({ folder, topics: { [topicNames().events]: store }, ...world });
    try {
      return await work(bus.deadLetters);
    } finally {
      await bus.close();
      await store.close();
    }
  } catch (error) {
    if (!(error instanceof EventStoreUnavailableError)) throw error;
    throw localError('notReady', 'in-use', `${error.message}.`, 'Stop the server for as long as this takes.');
  }
}

function summary(letter: DeadLetter, { terminal, columns }: Output): Line[] {
  const { id, group, code, detail, topic, partition, offset, attempts, parkedAt } = letter;
  const tries = `${String(attempts)} ${attempts === 1 ? 'try' : 'tries'}`;
  return [
    { text: printable(`${id}  ${code}  ${group}`), tone: 'bold' },
    {
      text: printable(`  ${topic} ${String(partition)}@${offset}, ${tries}, ${agoWords(parkedAt, terminal.now())}`),
    },
    ...wrapped(`  ${printable(detail)}`, columns),
  ];
}

/** The value as text if it is valid text, otherwise as base64. */
function toJson({ value, ...letter }: DeadLetter): object {
  const text = textOf(value);
  return Buffer.from(text).equals(value)
    ? { ...letter, value: text }
    : { ...letter, valueBase64: Buffer.from(value).toString('base64') };
}

function textOf(value: Uint8Array): string {
  return Buffer.from(value).toString();
}
