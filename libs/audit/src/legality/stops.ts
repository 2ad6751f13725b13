import type { EventData } from '@countersign/contracts';
import type { CallState } from './call-state.js';
import { createKnownStops } from './known-stops.js';
import { illegal } from './judged-event.js';
import type { JudgedEvent, Judgement } from './judged-event.js';
import type { KnownStreams, StreamState } from './streams.js';
import { isBeforeBy, skewMsMax } from './times.js';

/** The stops of the tenant that hold. */
export interface StopRecord {
  /** Judges and takes an event of a stop, or judges one by which a call goes on. `before`: the state of its stream before it. */
  readonly judge: (event: JudgedEvent, before: StreamState | undefined) => Judgement;
  /** Notes an event of the stops that cannot be read: which of them hold is unknown from then on. */
  readonly lose: (event: Pick<JudgedEvent, 'stream'>) => void;
}

/** A process may decide for a second without a stop, and the clocks of two processes differ. */
const graceMs = 1000 + skewMsMax;

/** What goes on with a call, and the member that says when. */
const goingOn = {
  ExecutionClaimed: 'claimedAt',
  ExecutionClaimRenewed: 'renewedAt',
  ApprovalResponded: 'respondedAt',
} as const;

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
  /** Attacks: what is stopped is claimed in the name of a restore; its claim says a time before the stop. */
  const judgeReport = ({ stream, data }: JudgedEvent, call: CallState): Judgement => {
    const { attempt } = data as { readonly attempt: number | null };
    if (ofRestores.get(stream) === attempt) return held(ranForRestore);
    const claimed = unreturned.get(stream);
    return claimed?.attempt === attempt && heldAt(claimed.recordedAt, call) ? held(ranUnreturned) : nothing;
  };
  const judgeGoing = (event: JudgedEvent, call: CallState, at: string): Judgement => {
    const isHeld = heldAt(at, call);
    if (!isHeld && !heldAt(event.recordedAt, call)) return nothing;
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
  const judgeCall = (event: JudgedEvent, call: CallState): Judgement => {
    if (isReport(event)) return judgeReport(event, call);
    const at = goesOnAt(event);
    if (at === undefined) return nothing;
    const { illegal: found, unproven } = judgeGoing(event, call, at);
    return { illegal: found, unproven: isLost ? ['leans-on-set-aside', ...unproven] : unproven };
  };
  return {
    judge: (event, before) => (before?.kind === 'call' ? judgeCall(event, before) : known.take(event, isLost)),
    lose: ({ stream }) => {
      isLost ||= stream.startsWith('system-') && stream.endsWith('-stops');
    },
  };
}

const ranUnreturned = 'its claim was recorded after a stop that still holds, so its claimer was never told of it';
const ranForRestore = 'a restore began this attempt of a stopped call, which was to run nothing';

/** A claim of a call that nobody touched since a backup was restored: there it takes the right to run away. */
function isOfRestore({ type, data, restoredAt }: JudgedEvent, { recordedAt = '' }: CallState): boolean {
  if (type !== 'ExecutionClaimed' || restoredAt === undefined || recordedAt > restoredAt) return false;
  const { resolverId, claimedBy } = data as EventData<'ExecutionClaimed'>;
  return resolverId === restore.resolverId && claimedBy === restore.claimedBy;
}

function isReport({ type }: JudgedEvent): boolean {
  return type === 'ExecutionSucceeded' || type === 'ExecutionFailed';
}

/** When a call went on by this event; undefined where it did not: a denial only restricts. */
function goesOnAt({ type, data }: JudgedEvent): string | undefined {
  if (!Object.hasOwn(goingOn, type)) return undefined;
  const members = data as Readonly<Record<string, unknown>> & { readonly decision?: { readonly type: string } };
  if (members.decision?.type === 'deny') return undefined;
  return String(members[goingOn[type as keyof typeof goingOn]]);
}
