import { graceMs } from '../rights/timeline.js';
import { illegal } from './judged-event.js';
import type { JudgedEvent, Judgement } from './judged-event.js';
import type { StreamState } from './streams.js';
import { isBeforeBy, skewMsMax, storedAfter } from './times.js';

/** Members that end in `At` and say when something will be, or of which events before the own one. */
const others = new Set(['expiresAt', 'nextAttemptAt', 'firstAt', 'lastAt']);

/** When an event says that it happened; undefined: it does not say. */
export function statedTimeOf({ data }: Pick<JudgedEvent, 'data'>): string | undefined {
  const members = Object.entries(data as Readonly<Record<string, unknown>>);
  const found = members.find(([name, value]) => isOwn(name) && typeof value === 'string');
  return found?.[1] as string | undefined;
}

function isOwn(name: string): boolean {
  return (name.endsWith('At') && !others.has(name)) || name === 'unknownSince';
}

/**
 * Compares the time that an event says with the times of the records of itself and of the event before it in the stream of its call.
 * Attacks: a claim, a report or a question gets a time at which something else was true.
 */
export function judgeStatedTime(event: JudgedEvent, before: StreamState | undefined): Judgement {
  const at = event.stream.startsWith('toolCall-') ? statedTimeOf(event) : undefined;
  if (at === undefined) return { illegal: [], unproven: [] };
  const { recordedAt } = event;
  const since = earliestOf(event, before);
  if (isBeforeBy(graceMs, recordedAt, at)) return found('more than 15 minutes after its record');
  if (isBeforeBy(graceMs, at, since)) return found('more than 15 minutes before the record of the event before it');
  const isOff = isBeforeBy(skewMsMax, recordedAt, at) || isBeforeBy(skewMsMax, at, since) || isOldRequest(event, at);
  const isOld = isBeforeBy(graceMs, at, recordedAt);
  return {
    illegal: [],
    unproven: [...(isOff ? (['off-time'] as const) : []), ...(isOld ? (['other-time'] as const) : [])],
  };
}

/**
 * The record of the event before it, from which on it was decided; empty: any time is later. Both may be of one append, which is
 * recorded late. What a deadline ends counts from the record of its beginning, and so it is as much later than it says.
 */
function earliestOf({ recordedAt }: JudgedEvent, before: StreamState | undefined): string {
  if (before?.kind !== 'call' || before.recordedAt === undefined) return '';
  const { recordedAt: last, lateMs = 0 } = before;
  return isBeforeBy(skewMsMax, last, recordedAt) ? (storedAfter(last, -lateMs) ?? '') : '';
}

/** Attack: a request says an old time, and what is recorded with it too, so that its deadline counts from then. */
function isOldRequest({ type, recordedAt }: JudgedEvent, at: string): boolean {
  return type === 'ToolCallRequested' && isBeforeBy(skewMsMax, at, recordedAt);
}

function found(when: string): Judgement {
  return { illegal: [illegal('time', `the time that it says is ${when}`)], unproven: [] };
}
