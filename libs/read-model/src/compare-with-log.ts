import { isDeepStrictEqual } from 'node:util';
import type { LogEvent } from '@countersign/contracts';
import { isReadable, toolCallStream } from '@countersign/contracts';
import type { Clock, Log } from '@countersign/runtime';
import { sleep } from '@countersign/runtime';
import type { CallRow } from './call-row.js';
import { isShown } from './call-row.js';
import { foldCall } from './evolve.js';
import type { LogSource } from './log-source.js';
import type { FileReadModel } from './sqlite/sqlite-read-model.js';

/** What a comparison needs. */
export interface CompareOptions {
  readonly readModel: Pick<FileReadModel, 'toolCall' | 'isListedBy' | 'callsBetween' | 'rebuild' | 'checkpoint'>;
  readonly store: LogSource & { readonly readStream: (stream: string) => Promise<readonly LogEvent[]> };
  readonly clock: Clock;
  readonly log: Log;
  /** A number from 0 up to 1, for the choice of samples. */
  readonly chance: () => number;
}

/** What the comparison found since the start. */
export interface Compared {
  /** Calls that were not what the log says. */
  readonly differences: number;
  /** When the whole read model was compared last, in milliseconds since the epoch; null: not since the start. */
  readonly atMs: number | null;
}

/** Compares what lists are made of with the log. */
export interface LogComparison {
  /**
   * Compares every call now and once a day, and a sample each minute, with at most a twentieth of a core. At a difference the
   * read model is built again, at most once a day. Resolves when it is stopped.
   */
  readonly keepComparing: () => Promise<void>;
  readonly compared: () => Compared;
  readonly stop: () => void;
}

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const pageSize = 200;
const samplesPerMinute = 20;
/** The pause in ms after each ms of work. */
const restFactor = 19;
/** After so much work other work runs. One call takes up to 20 ms. */
const workMsMax = 5;
/** An erasure or an event that is being applied makes a difference for a moment. */
const looksMax = 3;
const betweenLooksMs = 2_000;

/** Attack: a row of the read model is edited, so that people are shown other calls than those that would run. */
export function createLogComparison(options: CompareOptions): LogComparison {
  const { clock, log } = options;
  const closing = new AbortController();
  const { signal } = closing;
  let compared: Compared = { differences: 0, atMs: null };
  const differs = createMending(options, () => {
    compared = { ...compared, differences: compared.differences + 1 };
  });
  const look = async (called: Called): Promise<void> => {
    if (await isDifferent(options, called, signal)) await differs(called);
  };
  const compareDay = async (): Promise<void> => {
    const startedMs = clock.monotonic();
    await compareAll(options, { look, differs }, signal);
    if (!signal.aborted) compared = { ...compared, atMs: clock.now() };
    while (!signal.aborted && clock.monotonic() - startedMs < dayMs) {
      await sleep(clock, minuteMs, signal);
      await compareSample(options, look, signal);
    }
  };
  return {
    keepComparing: async () => {
      while (!signal.aborted) {
        try {
          await compareDay();
        } catch (error) {
          log.warn({ error }, 'the read model could not be compared with the log; it is tried again');
          await sleep(clock, minuteMs, signal);
        }
      }
    },
    compared: () => compared,
    stop: () => {
      closing.abort();
    },
  };
}

/** What is done about a call that is not what the log says. */
function createMending({ readModel, clock, log }: CompareOptions, onDifference: () => void) {
  let rebuiltAtMs = -Infinity;
  return async ({ callId }: Pick<Called, 'callId'>): Promise<void> => {
    onDifference();
    const isRebuilt = clock.monotonic() - rebuiltAtMs >= dayMs;
    log.error({ callId, isRebuilt }, 'the read model is not what the log says of a call');
    if (!isRebuilt) return;
    rebuiltAtMs = clock.monotonic();
    await readModel.rebuild();
    log.warn({}, 'the read model was built again from the log');
  };
}

/** Whether a call is not what the log says, also when it is looked at again. */
async function isDifferent(options: CompareOptions, called: Called, signal: AbortSignal): Promise<boolean> {
  for (let looks = 1; !(await isSame(options, called)); looks += 1) {
    if (looks === looksMax) return true;
    await sleep(options.clock, betweenLooksMs, signal);
    if (signal.aborted) return false;
  }
  return false;
}

async function isSame({ store, readModel }: CompareOptions, { tenant, callId, stream }: Called): Promise<boolean> {
  const events = await store.readStream(stream);
  const expected = foldCall(events);
  const row = readModel.toolCall(tenant, callId);
  if (expected === undefined || !isShown(expected)) return row === undefined;
  // An event that was recorded after one of the two was read.
  if (row === undefined) return (events.at(-1)?.position ?? 0) > readModel.checkpoint();
  if (row.revision !== expected.revision) return true;
  return isDeepStrictEqual(plain(row), plain(expected)) && readModel.isListedBy(expected);
}

type Look = (called: Called) => Promise<void>;

interface Looks {
  readonly look: Look;
  readonly differs: (call: Pick<Called, 'callId'>) => Promise<void>;
}

async function compareAll(
  { store, readModel, clock }: CompareOptions,
  { look, differs }: Looks,
  signal: AbortSignal,
): Promise<void> {
  const end = readModel.checkpoint();
  for (let after = 0; after < end && !signal.aborted;) {
    const startedMs = clock.monotonic();
    const page = await store.readAll(after, pageSize);
    const last = page.at(-1);
    if (last === undefined) return;
    const begun = page.flatMap((event) => (event.revision === 0 ? (calledIn(event) ?? []) : []));
    let restedAtMs = startedMs;
    for (const called of begun) {
      await look(called);
      // The calls of a page may be a hundred megabytes.
      if (clock.monotonic() - restedAtMs < workMsMax) continue;
      await rest(clock, restedAtMs, signal);
      restedAtMs = clock.monotonic();
    }
    const known = new Set(begun.map(({ callId }) => callId));
    const invented = readModel.callsBetween(after, last.position).find((callId) => !known.has(callId));
    if (invented !== undefined) await differs({ callId: invented });
    after = last.position;
    await rest(clock, restedAtMs, signal);
  }
}

async function compareSample(
  { store, readModel, clock, chance }: CompareOptions,
  look: Look,
  signal: AbortSignal,
): Promise<void> {
  for (let sample = 0; sample < samplesPerMinute && !signal.aborted; sample += 1) {
    const startedMs = clock.monotonic();
    const [event] = await store.readAll(Math.floor(chance() * readModel.checkpoint()), 1);
    const called = event === undefined ? undefined : calledIn(event);
    if (called !== undefined) await look(called);
    await rest(clock, startedMs, signal);
  }
}

function rest(clock: Clock, startedMs: number, signal: AbortSignal): Promise<void> {
  return sleep(clock, (clock.monotonic() - startedMs) * restFactor, signal);
}

interface Called {
  readonly tenant: string;
  readonly callId: string;
  readonly stream: string;
}

/** The call in whose own stream an event is. */
function calledIn(event: LogEvent): Called | undefined {
  if (!isReadable(event)) return undefined;
  const { stream, metadata } = event;
  const { tenant, callId } = metadata;
  return callId !== null && stream === toolCallStream(callId) ? { tenant, callId, stream } : undefined;
}

/** A row as JSON has it: members without a value are left out, wherever it comes from. */
function plain(row: CallRow): unknown {
  return JSON.parse(JSON.stringify(row));
}
