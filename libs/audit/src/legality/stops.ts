import type { EventData } from '@countersign/contracts';
import type { CallState } from './call-state.js';
import { createKnownStops } from './known-stops.js';
import type { KnownStop } from './known-stops.js';
import { illegal } from './judged-event.js';
import type { JudgedEvent, Judgement } from './judged-event.js';
import type { KnownStreams, StreamState } from './streams.js';
import { isBeforeBy, skewMsMax } from './times.js';

/** The stops of the tenant that hold. */
export interface StopRecord {
  /**
   * Judges and takes an event of a stop, or judges one that a stop holds back. `before` and `after`: the states of its stream before it,
   * and after it.
   */
  readonly judge: (event: JudgedEvent, before: StreamState | undefined, after: StreamState) => Judgement;
  /** Notes an event of the stops that cannot be read: which of them hold is unknown from then on. */
  readonly lose: (event: Pick<JudgedEvent, 'stream'>) => void;
}

/** A process may decide for a second without a stop, and the clocks of two processes differ. */
const graceMs = 1000 + skewMsMax;

type Times = Readonly<Record<string, string>>;

/** What goes on with a call, and the member that says when. */
const goingOn: Times = {
  ToolCallRequested: 'requestedAt',
  ToolCallAllowed: 'allowedAt',
  ApprovalResponded: 'respondedAt',
  ExecutionClaimed: 'claimedAt',
  ExecutionClaimRenewed: 'renewedAt',
  ExecutionSucceeded: 'reportedAt',
  ExecutionFailed: 'reportedAt',
};

/** What a stop holds back too, and by which nothing runs yet. */
const waiting: Times = {
  ToolCallQueued: 'queuedAt',
  ApprovalRequested: 'requestedAt',
  ApprovalExpired: 'expiredAt',
  ApprovalEscalated: 'escalatedAt',
  ApprovalLapsed: 'lapsedAt',
  ApproversReminded: 'remindedAt',
  BatchBegun: 'begunAt',
};

/** The claims by which a restore ends the right to run. They run nothing, so no stop holds them back. */
const restore = { resolverId: 'countersign-restore', claimedBy: 'countersign-resolver' };

const nothing: Judgement = { illegal: [], unproven: [] };
const held = (detail: string): Judgement => ({ illegal: [illegal('stop', detail)], unproven: [] });

/** No stop holds yet. Attack: a process that does not look at the stops approves, or runs, what a person has stopped. */
export function createStops(streams: KnownStreams): StopRecord {
  const known = createKnownStops(streams);
  /** The attempts, by their stream, that a stop would have held back if a restore had not begun them. */
  const ofRestores = new Map<string, number>();
  /** By their stream, the attempts whose claim says a time before a stop, and when it was recorded after it. */
  const unreturned = new Map<string, { readonly attempt: number; readonly recordedAt: string }>();
  let isLost = false;
  const heldAt = (at: string, call: CallState): boolean =>
    known.covering(call).some(({ since, lifted }) => lifted === undefined && isBeforeBy(graceMs, since, at));
  /** Attack: silence approves what people could not answer for a while. */
  const isSilenced = ({ type, data }: JudgedEvent, call: CallState): boolean => {
    const { automatic, respondedAt, decision } = data as EventData<'ApprovalResponded'>;
    const asked = call.approval?.proposal.proposedAt;
    if (type !== 'ApprovalResponded' || !automatic || decision.type === 'deny' || asked === undefined) return false;
    return known.covering(call).some((stop) => isBeforeBy(graceMs, stop.since, respondedAt) && heldSince(stop, asked));
  };
  /** Attacks: what is stopped is claimed in the name of a restore; its claim says a time before the stop. */
  const judgeReport = ({ stream, data }: JudgedEvent, call: CallState): Judgement => {
    const { attempt } = data as { readonly attempt: number | null };
    if (ofRestores.get(stream) === attempt) return held(ranForRestore);
    const claimed = unreturned.get(stream);
    return claimed?.attempt === attempt && heldAt(claimed.recordedAt, call) ? held(ranUnreturned) : nothing;
  };
  const judgeGoing = (event: JudgedEvent, call: CallState, at: string): Judgement => {
    const isHeld = heldAt(at, call);
    if (!isHeld && !heldAt(event.recordedAt, call)) return isSilenced(event, call) ? held(silenced) : nothing;
    const attempt = call.execution.attempt + 1;
    if (isOfRestore(event, call)) {
      ofRestores.set(event.stream, attempt);
      return nothing;
    }
    if (isHeld) return held('a person had stopped calls like this one');
    const { recordedAt } = event;
    if (event.type === 'ExecutionClaimed') unreturned.set(event.stream, { attempt, recordedAt });
    return { illegal: [], unproven: ['past-stop'] };
  };
  /** A restore asks people again, and ends what was permitted, also under a stop. */
  const isWaitingHeld = ({ restoredAt = '' }: JudgedEvent, at: string, call: CallState): boolean =>
    call.request.recordedAt > restoredAt && heldAt(at, call);
  const judgeCall = (event: JudgedEvent, call: CallState): Judgement => {
    if (isReport(event) && !isOfClient(event)) return judgeReport(event, call);
    const waits = timeIn(waiting, event);
    if (waits !== undefined) return isWaitingHeld(event, waits, call) ? passed : nothing;
    const at = goesOnAt(event);
    if (at === undefined) return nothing;
    const { illegal: found, unproven } = judgeGoing(event, call, at);
    return { illegal: found, unproven: isLost ? ['leans-on-set-aside', ...unproven] : unproven };
  };
  return {
    judge: (event, before, after) => {
      if (event.type === 'BatchBegun')
        return membersOf(event, streams).some((call) => isWaitingHeld(event, String(timeIn(waiting, event)), call))
          ? passed
          : nothing;
      const call = before ?? after;
      return call.kind === 'call' ? judgeCall(event, call) : known.take(event, isLost);
    },
    lose: ({ stream }) => {
      isLost ||= stream.startsWith('system-') && stream.endsWith('-stops');
    },
  };
}

const silenced = 'a stop kept people from answering for a while';
const passed: Judgement = { illegal: [], unproven: ['under-stop'] };
const ranUnreturned = 'its claim was recorded after a stop that still holds, so its claimer was never told of it';
const ranForRestore = 'a restore began this attempt of a stopped call, which was to run nothing';

/** A claim of a call from before a backup was restored: there it takes the right to run away, and runs nothing. */
export function isOfRestore({ type, data, restoredAt = '' }: JudgedEvent, { request }: CallState): boolean {
  if (type !== 'ExecutionClaimed' || request.recordedAt > restoredAt) return false;
  const { resolverId, claimedBy } = data as EventData<'ExecutionClaimed'>;
  return resolverId === restore.resolverId && claimedBy === restore.claimedBy;
}

function isReport({ type }: JudgedEvent): boolean {
  return type === 'ExecutionSucceeded' || type === 'ExecutionFailed';
}

/** The client of a call ran it itself. */
function isOfClient({ data }: JudgedEvent): boolean {
  return (data as EventData<'ExecutionSucceeded'>).executedBy === 'client';
}

/** Whether a stop still held at a time, or after it. */
function heldSince({ lifted }: KnownStop, at: string): boolean {
  return lifted === undefined || lifted.at >= at || isBeforeBy(graceMs, at, lifted.recordedAt);
}

function membersOf({ data }: JudgedEvent, streams: KnownStreams): readonly CallState[] {
  const states = (data as { readonly callIds: readonly string[] }).callIds.map(
    (id) => streams.get(`toolCall-${id}`)?.state,
  );
  return states.filter((state) => state?.kind === 'call');
}

/** When a call went on by this event; undefined where it did not: a denial only restricts. */
function goesOnAt(event: JudgedEvent): string | undefined {
  const { decision } = event.data as { readonly decision?: { readonly type: string } };
  return decision?.type === 'deny' ? undefined : timeIn(goingOn, event);
}

function timeIn(times: Times, { type, data }: JudgedEvent): string | undefined {
  const name = Object.hasOwn(times, type) ? times[type] : undefined;
  return name === undefined ? undefined : String((data as Readonly<Record<string, unknown>>)[name]);
}
