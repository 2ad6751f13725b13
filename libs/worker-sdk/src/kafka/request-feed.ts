import { z } from 'zod';
import type { Changes } from '../changes.js';
import { CountersignError } from '../errors.js';

/** A message of the events topic, as far as a worker looks at it. */
export interface HeardMessage {
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Read only for what must be read. */
  readonly value: () => string;
}

/** What somebody waits for. */
export interface Watch {
  readonly runId: string;
  /** Whose refusal ends the waiting. */
  readonly requestId?: string | undefined;
  readonly changes: Changes;
}

/** Hands what is heard on the events topic to those who wait for it. Nothing here is believed: it makes them look. */
export interface RequestFeed {
  readonly watch: (watch: Watch) => () => void;
  readonly hear: (message: HeardMessage) => void;
  /** Something may have been missed. */
  readonly gap: () => void;
}

/** The topic has every event at least once: repeats come soon after the first, when a relay takes over. */
const rememberedMax = 10_000;

const refusalSchema = z.looseObject({
  data: z.looseObject({
    requestId: z.string(),
    code: z.string(),
    detail: z.string(),
    toolCallIds: z.array(z.string()),
  }),
});

/** @param onPosition is told how far the log was when something was heard, so that a look at it is no older. */
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
  const tellRefusal = (message: HeardMessage): void => {
    const error = refusalOf(message);
    if (error === undefined) return;
    for (const watch of watches) {
      if (watch.requestId === error.problem?.['requestId']) watch.changes.fail(error);
    }
  };
  return {
    watch: (watch) => {
      watches.add(watch);
      return () => watches.delete(watch);
    },
    hear: (message) => {
      if (watches.size === 0) return;
      const { ce_type: type, ce_id: eventId, ce_sequence: position, ce_subject: callId } = message.headers;
      const ours = [...watches].filter(({ runId }) => runId === message.key);
      if (type !== 'RequestRefused' && ours.length === 0) return;
      if (!isNew(eventId)) return;
      if (type === 'RequestRefused') {
        tellRefusal(message);
        return;
      }
      if (position !== undefined && /^\d{1,16}$/.test(position)) onPosition(position);
      for (const { changes } of ours) {
        if (callId === undefined) changes.addAnything();
        else changes.add(callId);
      }
    },
    gap: () => {
      for (const { changes } of watches) changes.addAnything();
    },
  };
}

/** The refusal as the error that HTTP would have answered with; undefined when the message is none. */
function refusalOf(message: HeardMessage): CountersignError | undefined {
  const parsed = refusalSchema.safeParse(parseJson(message.value()));
  if (!parsed.success) return undefined;
  const { requestId, code, detail, toolCallIds } = parsed.data.data;
  const problem = { type: 'about:blank', title: code, status: 0, code, detail, requestId, toolCallIds };
  return new CountersignError({ code, problem, message: `${code}: ${detail}` });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
