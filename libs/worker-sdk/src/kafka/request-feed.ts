import type { EventView } from '@countersign/contracts';
import { z } from 'zod';
import type { Changes } from '../changes.js';
import { CountersignError } from '../errors.js';

/** A message of the events topic, as far as a worker looks at it. */
export interface HeardMessage {
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Decoded only when it is needed. */
  readonly value: () => string;
}

/** The wait of one caller. */
export interface Watch {
  readonly runId: string;
  /** The id of the message whose refusal ends the wait. */
  readonly requestId?: string | undefined;
  readonly changes: Changes;
  /** Receives the topic's message about a refusal, which may be forged. */
  readonly onRumour?: ((refusal: CountersignError) => void) | undefined;
}

/** Passes messages to the waiting callers. The topic is not trusted: a message only causes a read. */
export interface RequestFeed {
  readonly watch: (watch: Watch) => () => void;
  /** A message of the events topic. */
  readonly hear: (message: HeardMessage) => void;
  /** A refusal out of the ledger's own log: it ends the waiting. */
  readonly refuse: (event: Pick<EventView, 'data'>) => void;
  /** Something may have been missed. */
  readonly gap: () => void;
}

/** The topic has every event at least once: duplicates come soon after the first, when another relay takes over. */
const rememberedMax = 10_000;

const refusalSchema = z.looseObject({
  data: z.looseObject({
    requestId: z.string(),
    code: z.string(),
    detail: z.string(),
    toolCallIds: z.array(z.string()),
  }),
});

/** @param onPosition receives the log position of a message, so that the next read is not older. */
export function createRequestFeed(onPosition: (position: string) => void): RequestFeed {
  const watches = new Set<Watch>();
  const seen = new Set<string>();

  const isNew = (eventId: string | undefined): boolean => {
    if (eventId === undefined) return true;
    if (seen.has(eventId)) return false;
    seen.add(eventId);
    const [oldest = ''] = seen;
    if (seen.size > rememberedMax) seen.delete(oldest);
    return true;
  };
  const askersOf = ({ problem }: CountersignError): readonly Watch[] =>
    [...watches].filter(({ requestId }) => requestId === problem?.['requestId']);
  const spread = (message: HeardMessage): void => {
    const error = refusalOf(parseJson(message.value()));
    if (error !== undefined) for (const { onRumour } of askersOf(error)) onRumour?.(error);
  };
  const look = ({ headers }: HeardMessage, ours: readonly Watch[]): void => {
    const { ce_sequence: position, ce_subject: callId } = headers;
    if (position !== undefined && /^\d{1,16}$/.test(position)) onPosition(position);
    for (const { changes } of ours) {
      if (callId === undefined) changes.addAnything();
      else changes.add(callId);
    }
  };
  return {
    watch: (watch) => {
      watches.add(watch);
      return () => watches.delete(watch);
    },
    hear: (message) => {
      if (watches.size === 0) return;
      const { ce_type: type, ce_id: eventId } = message.headers;
      const ours = [...watches].filter(({ runId }) => runId === message.key);
      if (type !== 'RequestRefused' && ours.length === 0) return;
      if (!isNew(eventId)) return;
      if (type === 'RequestRefused') spread(message);
      else look(message, ours);
    },
    refuse: (event) => {
      const error = refusalOf(event);
      if (error !== undefined) for (const { changes } of askersOf(error)) changes.fail(error);
    },
    gap: () => {
      for (const { changes } of watches) changes.addAnything();
    },
  };
}

/** Returns the refusal as the error of the HTTP API; undefined when the event is none. */
function refusalOf(event: unknown): CountersignError | undefined {
  const parsed = refusalSchema.safeParse(event);
  if (!parsed.success) return undefined;
  const { code, detail } = parsed.data.data;
  const problem = { ...parsed.data.data, type: 'about:blank', title: code, status: 0 };
  return new CountersignError({ code, problem, message: `${code}: ${detail}` });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
