import { setImmediate } from 'node:timers/promises';
import { toLogEventView, toolCallStream, isCallId } from '@countersign/contracts';
import type { LogEvent, UnreadableStream, UnreadableStreamView } from '@countersign/contracts';
import { noSuchCall } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import { foldCall, toToolCallView } from '@countersign/read-model';
import { ok, refused } from './answer.js';
import type { Answer } from './answer.js';
import type { GatewayPorts } from './ports.js';
import type { ShownValues } from './visibility.js';

/** The audit reads: from the event store. */
export interface Audit {
  /** A call's stream up to a time, and the state of the call at that time. */
  readonly callEvents: (
    actor: Actor,
    callId: string,
    asOf: string | undefined,
    values?: ShownValues,
  ) => Promise<Answer>;
  /** The streams of the tenant that are set aside, in the order of the log. */
  readonly unreadable: (actor: Actor) => Answer;
  /** The tenant's log in order, one JSON line per event. */
  readonly log: (actor: Actor, after: number, limit: number) => AsyncGenerator<string, void>;
}

const pageSize = 200;

/** The audit side of the gateway. */
export function createAudit(ports: GatewayPorts): Audit {
  const { store, readModel } = ports;
  const unreadable = unreadableIn(ports);
  return {
    unreadable: ({ tenant }) =>
      // A stream whose tenant cannot be read may be of any.
      ok({
        streams: unreadable()
          .filter((one) => one.tenant === tenant || one.tenant === null)
          .map(toStreamView),
      }),
    callEvents: async (actor, callId, asOf, values = 'masked') => {
      const stream = isCallId(callId) ? await store.readStream(toolCallStream(callId)) : [];
      const all = stream.filter(({ metadata }) => metadata.tenant === actor.tenant || metadata.tenant === null);
      if (all.every(({ metadata }) => metadata.tenant === null)) return refused(noSuchCall(callId).refusal);
      const until = asOf === undefined ? Infinity : Date.parse(asOf);
      const events = all.filter(({ recordedAt }) => Date.parse(recordedAt) <= until);
      const call = foldCall(events);
      return ok({
        callId,
        events: events.map((event) => toLogEventView(event, values)),
        toolCall: call === undefined ? null : toToolCallView(call, values === 'clear' ? 'whole' : 'masked'),
      });
    },
    log: async function* (actor, after, limit) {
      // A caller may name any position, and a store reads from that of an event only.
      let position = readModel.places.upTo(after);
      let left = limit;
      for (;;) {
        const page = await store.readAll(position, pageSize);
        const last = page.at(-1);
        if (last === undefined) return;
        position = last.position;
        const mine = page
          .filter((event) => event.position > after && event.metadata.tenant === actor.tenant)
          .slice(0, left);
        left -= mine.length;
        if (mine.length > 0) yield mine.map(toLine).join('');
        if (left === 0) return;
        // The log may be long: others get their turn between its pages.
        await setImmediate();
      }
    },
  };
}

/** The streams that are set aside: those that the process met, by default those of its read model. */
export function unreadableIn({ unreadable, readModel }: GatewayPorts): () => readonly UnreadableStream[] {
  return unreadable ?? readModel.unreadable.all;
}

function toStreamView({ tenant: _tenant, ...stream }: UnreadableStream): UnreadableStreamView {
  return stream;
}

function toLine(event: LogEvent): string {
  return `${JSON.stringify(toLogEventView(event, 'masked'))}\n`;
}
