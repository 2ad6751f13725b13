import { toLogEventView, toolCallStream, isCallId } from '@countersign/contracts';
import type { AuditEventsQuery, UnreadableStream, UnreadableStreamView } from '@countersign/contracts';
import { noSuchCall } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import { soundReadsOf } from '@countersign/event-store';
import { foldCall, toToolCallView } from '@countersign/read-model';
import type { FairTurns } from './limits/fair-turns.js';
import { stateAt } from './audit/state-at.js';
import { ok, refused } from './answer.js';
import { exportedFile } from './audit/exported.js';
import type { ExportedFile } from './audit/exported.js';
import { integrityOf } from './audit/integrity-of.js';
import { selectEvents } from './audit/select-events.js';
import type { EventsPage } from './audit/select-events.js';
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
  /** How the tenant stood at a moment. @throws the signal's reason. */
  readonly state: (actor: Actor, asOf: string, signal: AbortSignal) => Promise<Answer>;
  /** A page of the tenant's log, as a file. */
  readonly events: (
    actor: Actor,
    query: AuditEventsQuery,
  ) => Promise<Omit<EventsPage, 'events'> & { readonly file: ExportedFile }>;
}

/** The audit side of the gateway. */
export function createAudit(ports: GatewayPorts, reports: FairTurns): Audit {
  const { store } = ports;
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
      const stream = isCallId(callId) ? await soundReadsOf(store).readStream(toolCallStream(callId)) : [];
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
    state: (actor, asOf, signal) =>
      reports.run(`${actor.tenant}\n${actor.principal}`, async () => ok(await stateAt(ports, actor, asOf, signal))),
    events: async (actor, query) => {
      const isStored = query.values === 'stored';
      // What is compared with the tree must be whole.
      const isWhole = isStored || query.ocsf === '1.9';
      const page = await selectEvents(ports, isStored ? (ports.sealedLog ?? store) : store, actor, query, isWhole);
      const isAttested = query.ocsf === '1.9' && page.events.length > 0;
      const integrity = isAttested ? await integrityOf(ports, actor, query, page) : undefined;
      return { ...page, file: exportedFile(page.events, query, integrity) };
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
