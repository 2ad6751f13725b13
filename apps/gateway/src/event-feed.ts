import {
  grantEventTypes,
  isReadable,
  systemEventTypes,
  systemStreamPrefix,
  toLogEventView,
  unreadableType,
} from '@countersign/contracts';
import type { EventAudience, LogEvent, RecordedEvent } from '@countersign/contracts';
import { isFrontEnd, provenKey } from '@countersign/commands';
import { soundReadsOf } from '@countersign/event-store';
import type { Actor } from '@countersign/commands';
import { createEventReader } from './event-reader.js';
import type { EventReader, EventSink, News } from './event-reader.js';
import { readEventsOfCall } from './events-of-call.js';
import { createBreather } from './limits/breather.js';
import { createFairTurns } from './limits/fair-turns.js';
import type { Quota } from './limits/quota.js';
import type { GatewayPorts } from './ports.js';
import type { ShownValues } from './visibility.js';

/** The events that a reader wants, and the position to start after. */
export interface EventSelection {
  /** `now`: new events only. */
  readonly after: number | 'now';
  readonly runId?: string | undefined;
  readonly callId?: string | undefined;
  readonly types?: ReadonlySet<string> | undefined;
  /** `clear`: the reader is an auditor who asked for it. */
  readonly values?: ShownValues | undefined;
}

/** Event streams for readers: from any position of the log, then live. */
export interface EventFeed {
  /**
   * `isProved` runs at every heartbeat and after each change of the tokens, and checks that the reader's rights still hold. A stream does not end by itself,
   * so it must not outlast a revoked token, an ended session or a removed role.
   * @throws ProblemError `too-many-requests` beyond the quota, before `openSink` is called.
   */
  readonly open: (
    actor: Actor,
    selection: EventSelection,
    openSink: () => EventSink,
    isProved: () => Promise<boolean>,
  ) => void;
  readonly count: () => number;
  /** Ends every stream. A reader reconnects with the id of its last event. */
  readonly close: () => void;
}

/** The recurring checks of an open stream. */
interface Checks {
  /** Writes a heartbeat, and ends the stream of a reader that reads nothing. */
  readonly beat: () => void;
  /** Ends the stream of a reader whose rights do not hold any more. */
  readonly prove: () => void;
}

const heartbeatMs = 15_000;
/** A reader that reads nothing for this long counts as gone. */
const fullMsMax = 60_000;
const retryMs = 2000;
/** Pages of the log that are read and written at the same time, for all readers that catch up. */
const pagesAtOnce = 2;

/** The feed: one listener of the read model for any number of readers. */
export function createEventFeed(ports: GatewayPorts & { readonly quota: Quota }): EventFeed {
  const { readModel, clock, log, quota, tokens } = ports;
  const store = soundReadsOf(ports.store);
  const turns = createFairTurns(pagesAtOnce);
  const breathe = createBreather(clock.monotonic);
  const frameFor = createFrames();
  const readers = new Map<EventReader, Checks>();
  const news: News = { head: readModel.checkpoint(), last: undefined };
  const stopListening = readModel.onApplied((applied) => {
    news.last = { from: news.head, applied };
    news.head = applied.position;
    for (const reader of readers.keys()) reader.wake();
  });
  const closeReader = (reader: EventReader): void => {
    if (readers.delete(reader)) reader.close();
    if (readers.size === 0) cancelBeat();
  };
  const beat = (): void => {
    for (const checks of readers.values()) checks.beat();
    if (readers.size > 0) cancelBeat = clock.setTimer(heartbeatMs, beat);
  };
  let cancelBeat = (): void => undefined;
  const stopProving = tokens.onChange?.(() => {
    for (const checks of readers.values()) checks.prove();
  });

  return {
    open: (actor, selection, openSink, isProved) => {
      const giveBack = quota.take(actor);
      const sink = openSink();
      const position = selection.after === 'now' ? news.head : selection.after;
      const isWanted = createFilter(readModel, actor, selection);
      const asksForUnreadable = selection.types?.has(unreadableType) === true;
      const frameOf = (event: LogEvent) => {
        if (!isWanted(event)) return null;
        const audience = audienceOf(ports, actor, event, selection.values);
        // A damaged event has no type.
        const isNamed = isReadable(event) || (event.type !== '' && !asksForUnreadable);
        return frameFor(audience, event, isNamed ? event.type : unreadableType);
      };
      const { callId } = selection;
      const readWanted = callId === undefined ? undefined : () => readEventsOfCall(store, callId);
      const reader = createEventReader({
        ...{ store, news, sink, position, frameOf, readWanted },
        readFrom: readModel.places.upTo(position),
        monotonic: clock.monotonic,
        inTurn: (work) => turns.run(provenKey(actor), work),
        breathe,
      });
      const prove = (): void => {
        void isProved().then((isStill) => {
          if (!isStill) closeReader(reader);
        });
      };
      const beatOf = (): void => {
        const fullMs = reader.fullMs();
        if (fullMs > fullMsMax) closeReader(reader);
        else if (fullMs === 0) sink.write(': heartbeat\n\n');
        prove();
      };
      readers.set(reader, { beat: beatOf, prove });
      if (readers.size === 1) cancelBeat = clock.setTimer(heartbeatMs, beat);
      sink.onClose(() => {
        giveBack();
        closeReader(reader);
      });
      // A live reader that loses its connection before the first event resumes from its start position.
      sink.write(selection.after === 'now' ? `retry: ${retryMs}\nid: ${position}\n\n` : `retry: ${retryMs}\n\n`);
      reader.run().catch((error: unknown) => {
        log.warn({ error }, 'an event stream failed');
        closeReader(reader);
      });
    },
    count: () => readers.size,
    close: () => {
      stopListening();
      stopProving?.();
      for (const reader of [...readers.keys()]) closeReader(reader);
    },
  };
}

/** Agents may read neither the policy, its candidate nor grants: they would learn which arguments no person looks at. */
const policyTypes: ReadonlySet<string> = new Set<RecordedEvent['type']>([
  'PolicyActivated',
  'ShadowPolicyActivated',
  'ToolCallShadowJudged',
  ...grantEventTypes,
]);

type Views = GatewayPorts['readModel'];

function mayReadPolicy({ roles }: Actor): boolean {
  return roles.has('approver') || roles.has('auditor') || roles.has('admin');
}

/** A refusal is read by its own sender, auditors and admins: it names requests, calls and runs of that sender. */
function mayReadRefusal({ roles, principal }: Actor, event: LogEvent): boolean {
  const isOwn = isReadable(event) && 'principal' in event.data && event.data.principal === principal;
  return isOwn || roles.has('auditor') || roles.has('admin');
}

/** The tenant of an event that lost its headers is that of its call. */
export function isOfTenant(readModel: Views, { tenant }: Actor, { metadata }: LogEvent): boolean {
  if (metadata.tenant !== null || metadata.callId === null) return metadata.tenant === tenant;
  return readModel.requesterOf(tenant, metadata.callId) !== undefined;
}

/** The run of an event that lost its headers is that of its call. */
function runOf(readModel: Views, { tenant }: Actor, { metadata: { runId, callId } }: LogEvent): string | null {
  if (runId !== null || callId === null) return runId;
  return readModel.toolCall(tenant, callId)?.request.runId ?? null;
}

/** Who signed in, which rights there are and who looked at what. One that cannot be read is known by its stream. */
function mayReadSystem({ roles }: Actor): boolean {
  return roles.has('auditor') || roles.has('admin');
}

const systemTypes: ReadonlySet<string> = new Set<string>(systemEventTypes);

/** A front end without a person reads of the calls that its principal requested. */
function isOfOwnCall(
  readModel: Views,
  { tenant, principal }: Actor,
  { type, metadata: { callId } }: LogEvent,
): boolean {
  return callId !== null && !policyTypes.has(type) && readModel.requesterOf(tenant, callId) === principal;
}

function mayRead(readModel: Views, actor: Actor, event: LogEvent): boolean {
  if (!isOfTenant(readModel, actor, event)) return false;
  if (systemTypes.has(event.type) || event.stream.startsWith(systemStreamPrefix)) return mayReadSystem(actor);
  if (event.type === 'RequestRefused') return mayReadRefusal(actor, event);
  if (isFrontEnd(actor)) return isOfOwnCall(readModel, actor, event);
  return !policyTypes.has(event.type) || mayReadPolicy(actor);
}

function createFilter(
  readModel: Views,
  actor: Actor,
  { callId, runId, types }: EventSelection,
): (event: LogEvent) => boolean {
  const hasType = (event: LogEvent): boolean =>
    types === undefined || types.has(event.type) || (types.has(unreadableType) && !isReadable(event));
  return (event) =>
    hasType(event) &&
    (callId === undefined || event.metadata.callId === callId) &&
    (runId === undefined || runOf(readModel, actor, event) === runId) &&
    mayRead(readModel, actor, event);
}

/** The text of an event, rendered once for all readers with the same view. */
function createFrames(): (audience: EventAudience, event: LogEvent, name: string) => string {
  const frames = new WeakMap<LogEvent, Partial<Record<EventAudience, string>>>();
  return (audience, event, name) => {
    // It has no data to mask, and rarely more than one reader.
    if (!isReadable(event)) return frameOf(event, name, toLogEventView(event, 'others'));
    const made = frames.get(event) ?? {};
    frames.set(event, made);
    return (made[audience] ??= frameOf(event, name, toLogEventView(event, audience)));
  };
}

function frameOf({ position }: LogEvent, name: string, view: unknown): string {
  return `id: ${position}\nevent: ${lineOf(name)}\ndata: ${JSON.stringify(view)}\n\n`;
}

/** Attack: a type that is not ours ends its line, and forges the fields of an event. */
function lineOf(name: string): string {
  return name.replaceAll(/[\r\n]/g, ' ');
}

function audienceOf(
  { readModel }: GatewayPorts,
  actor: Actor,
  { metadata }: LogEvent,
  values: ShownValues = 'masked',
): EventAudience {
  if (values === 'clear') return 'clear';
  const mayReadProof = actor.roles.has('auditor') || actor.roles.has('admin');
  const isOwner =
    actor.roles.has('agent') &&
    metadata.callId !== null &&
    readModel.requesterOf(actor.tenant, metadata.callId) === actor.principal;
  if (isOwner) return mayReadProof ? 'clear' : 'owner';
  return mayReadProof ? 'masked' : 'others';
}
