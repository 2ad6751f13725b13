import type { EventView } from '@countersign/contracts';
import { z } from 'zod';
import type { Changes } from '../ledger/changes.js';
import { CountersignError } from '../errors.js';
import { heardEvent, parseJson, type HeardEvent, type HeardMessage } from './heard-event.js';
import type { KnownCalls } from './known-calls.js';

/** The wait of one caller for the events of a run. */
export interface Watch {
  readonly runId: string;
  readonly changes: Changes;
  /** Returns whether the event is reason for a look. Default: each is. */
  readonly hear?: ((event: HeardEvent) => boolean) | undefined;
}

/** The wait of one caller for the refusal of its message. */
export interface RefusalWatch {
  readonly requestId: string;
  /** Receives the topic's message about a refusal, which may be forged, and its position in the log. */
  readonly onRumour: (refusal: CountersignError, position: number) => void;
}

/** The wait of one caller for events of any run. */
export interface TypesWatch {
  readonly types: readonly string[];
  readonly hear: (event: HeardEvent) => void;
  readonly gap: () => void;
}

/** Passes messages to the waiting callers. The topic is not trusted: a message is never the last word. */
export interface RequestFeed {
  readonly watch: (watch: Watch) => () => void;
  readonly watchRefusal: (watch: RefusalWatch) => () => void;
  readonly watchTypes: (watch: TypesWatch) => () => void;
  /** A message of the events topic. */
  readonly hear: (message: HeardMessage) => void;
  /** Something may have been missed. */
  readonly gap: () => void;
}

/** Returns the position of the log that a message names; undefined when it is none that every reader of numbers keeps. */
function positionOf({ headers }: HeardMessage): string | undefined {
  const position = headers['ce_sequence'] ?? '';
  return /^\d{1,16}$/.test(position) && Number.isSafeInteger(Number(position)) ? position : undefined;
}

/** The topic has every event at least once: duplicates come soon after the first, when another relay takes over. */
const rememberedMax = 10_000;

const refusalSchema = z.looseObject({
  data: z.looseObject({
    requestId: z.string(),
    code: z.string(),
    detail: z.string(),
    toolCallIds: z.array(z.string()),
    principal: z.string().optional(),
  }),
});

/** @param onPosition receives the log position of a message, so that the next read is not older. */
export function createRequestFeed(
  onPosition: (position: string) => void,
  known: Pick<KnownCalls, 'follows' | 'hear' | 'doubtRun' | 'gap'>,
): RequestFeed {
  const hearers = new Set<Hearer>();
  const refusals = new Set<RefusalWatch>();
  const isNew = createMemory(rememberedMax);

  const spread = (message: HeardMessage): void => {
    if (refusals.size === 0) return;
    const error = refusalOf(parseJson(message.value()));
    const position = positionOf(message);
    if (error === undefined || position === undefined) return;
    for (const watch of refusals) if (watch.requestId === requestOf(error)) watch.onRumour(error, Number(position));
  };
  const tell = (message: HeardMessage): void => {
    const runId = message.key ?? '';
    const hearing = [...hearers].filter(({ isFor }) => isFor(message));
    if (hearing.length === 0 && !known.follows(runId)) return;
    if (!isNew(message.headers['ce_id'])) return;
    const event = heardEvent(message);
    if (event === undefined) {
      known.doubtRun(runId);
      for (const { gap } of hearing) gap();
      return;
    }
    const position = positionOf(message);
    if (position !== undefined) onPosition(position);
    known.hear(event);
    for (const { hear } of hearing) hear(event);
  };
  return {
    watch: ({ runId, changes, hear }) =>
      remembered(hearers, {
        isFor: ({ key }) => key === runId,
        hear: (event) => {
          if (hear?.(event) !== false) changes.add(event.callId);
        },
        gap: changes.addAnything,
      }),
    watchTypes: ({ types, hear, gap }) =>
      remembered(hearers, { isFor: ({ headers }) => types.includes(headers['ce_type'] ?? ''), hear, gap }),
    watchRefusal: (watch) => remembered(refusals, watch),
    hear: (message) => {
      if (message.headers['ce_type'] === 'RequestRefused') spread(message);
      else tell(message);
    },
    gap: () => {
      known.gap();
      for (const { gap } of hearers) gap();
    },
  };
}

/** One caller that waits. */
interface Hearer {
  readonly isFor: (message: HeardMessage) => boolean;
  readonly hear: (event: HeardEvent) => void;
  /** Something may have been missed. */
  readonly gap: () => void;
}

function remembered<T>(all: Set<T>, one: T): () => void {
  all.add(one);
  return () => all.delete(one);
}

/** Returns a function that returns whether an id is new. It forgets the oldest. */
function createMemory(max: number): (id: string | undefined) => boolean {
  const seen = new Set<string>();
  return (id) => {
    if (id === undefined) return true;
    if (seen.has(id)) return false;
    seen.add(id);
    const [oldest = ''] = seen;
    if (seen.size > max) seen.delete(oldest);
    return true;
  };
}

function requestOf({ problem }: CountersignError): unknown {
  return problem?.['requestId'];
}

/** Returns the refusal as the error of the HTTP API; undefined when the event is none. */
export function refusalOf(event: unknown): CountersignError | undefined {
  const parsed = refusalSchema.safeParse(event);
  if (!parsed.success) return undefined;
  const { code, detail } = parsed.data.data;
  const problem = { ...parsed.data.data, type: 'about:blank', title: code, status: 0 };
  return new CountersignError({ code, problem, message: `${code}: ${detail}` });
}

/**
 * Returns the refusal of this request, if the event of the ledger's own log is it.
 *
 * Attack: another producer sends a request with the same id, which is refused. So the refusal names the principal that the
 * ledger proved, and only that of the own principal counts.
 */
export function refusalOfRequest(
  event: Pick<EventView, 'data'>,
  requestId: string,
  principal: string,
): CountersignError | undefined {
  const error = refusalOf(event);
  if (error === undefined || requestOf(error) !== requestId) return undefined;
  return principalOf(error) === principal ? error : undefined;
}

/** The sender that the ledger proved for a refused request; undefined: none. */
export function principalOf({ problem }: CountersignError): string | undefined {
  const principal = problem?.['principal'];
  return typeof principal === 'string' ? principal : undefined;
}
