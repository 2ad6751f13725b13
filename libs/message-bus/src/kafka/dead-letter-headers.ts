import type { IHeaders, KafkaMessage as Received } from 'kafkajs';
import type { Failure } from '../failure.js';
import type { DeadLetter, Message } from '../message-bus.js';
import { headerOf, toHeaders } from './kafka-message.js';

const prefix = 'x-dead-letter-';
/** The header of a replayed message: the only group that handles it. */
const replayGroup = `${prefix}replay-group`;
/** On a mark in the dead letters topic: the id of the letter that was replayed. */
const replayed = `${prefix}replayed`;
const detailLengthMax = 2_000;

/** The received headers, unchanged, without ours. */
function original(headers: IHeaders | undefined): IHeaders {
  return Object.fromEntries(Object.entries(headers ?? {}).filter(([name]) => !name.startsWith(prefix)));
}

/** The headers of a parked message: its own, and why, from where and for which group it was parked. */
export function toLetterHeaders(
  message: Message & { readonly received: Received },
  group: string,
  { code, detail, attempts }: Failure,
  parkedAt: string,
): IHeaders {
  return {
    ...original(message.received.headers),
    [`${prefix}code`]: code,
    [`${prefix}detail`]: detail.slice(0, detailLengthMax),
    [`${prefix}topic`]: message.topic,
    [`${prefix}partition`]: String(message.partition),
    [`${prefix}offset`]: message.offset,
    [`${prefix}attempts`]: String(attempts),
    [`${prefix}at`]: parkedAt,
    [`${prefix}group`]: group,
  };
}

/** The headers of a dead letter that returns to its topic, for one group only. */
export function toReplayHeaders(received: Received, group: string): IHeaders {
  return { ...original(received.headers), [replayGroup]: group };
}

export function toMarkHeaders(id: string): IHeaders {
  return { [replayed]: id };
}

/** The id of the letter that a mark strikes off the list; undefined for a letter. */
export function markedBy(received: Received): string | undefined {
  return headerOf(received, replayed);
}

/** Returns whether a message is a replay for another group. */
export function isReplayForOther(received: Received, group: string): boolean {
  const wanted = headerOf(received, replayGroup);
  return wanted !== undefined && wanted !== group;
}

/** A letter as the port shows it. */
export function toDeadLetter(id: string, received: Received): DeadLetter {
  const of = (name: string): string => headerOf(received, `${prefix}${name}`) ?? '';
  return {
    id,
    group: of('group'),
    topic: of('topic'),
    partition: Number(of('partition')),
    offset: of('offset'),
    key: received.key?.toString() ?? null,
    value: received.value ?? new Uint8Array(),
    headers: toHeaders(original(received.headers)),
    code: of('code'),
    detail: of('detail'),
    attempts: Number(of('attempts')),
    parkedAt: of('at'),
  };
}
