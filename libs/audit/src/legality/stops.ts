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

/** No stop holds yet. Attack: a process that does not look at the stops approves, or runs, what a person has stopped. */
export function createStops(streams: KnownStreams): StopRecord {
  const known = createKnownStops(streams);
  /** The attempts, by their stream, that a stop would have held back if a restore had not begun them. */
  const ofRestores = new Map<string, number>();
  let isLost = false;
  const heldAt = (at: string, call: CallState): boolean =>
    known.covering(call).some(({ since, lifted }) => lifted === undefined && isBeforeBy(graceMs, since, at));
  /** Attack: a process that runs what is stopped claims it in the name of a restore. */
  const runsForRestore = ({ type, stream, data }: JudgedEvent): boolean => {
    const isReport = type === 'ExecutionSucceeded' || type === 'ExecutionFailed';
    return isReport && ofRestores.get(stream) === (data as { readonly attempt: number | null }).attempt;
  };
  const judgeCall = (event: JudgedEvent, before: CallState): Judgement => {
    const at = goesOnAt(event);
    if (at === undefined) {
      return runsForRestore(event) ? { illegal: [illegal('stop', ranForRestore)], unproven: [] } : nothing;
    }
    const isHeld = heldAt(at, before);
    if (isHeld && isOfRestore(event, before)) {
      ofRestores.set(event.stream, before.execution.attempt + 1);
      return nothing;
    }
    const found = isHeld ? [illegal('stop', 'a person had stopped calls like this one')] : [];
    return { illegal: found, unproven: isLost ? ['leans-on-set-aside'] : [] };
  };
  return {
    judge: (event, before) => (before?.kind === 'call' ? judgeCall(event, before) : known.take(event, isLost)),
    lose: ({ stream }) => {
      isLost ||= stream.startsWith('system-') && stream.endsWith('-stops');
    },
  };
}

const ranForRestore = 'a restore began this attempt of a stopped call, which was to run nothing';

/** A claim of a call that nobody touched since a backup was restored: there it takes the right to run away. */
function isOfRestore({ type, data, restoredAt }: JudgedEvent, { recordedAt = '' }: CallState): boolean {
  if (type !== 'ExecutionClaimed' || restoredAt === undefined || recordedAt > restoredAt) return false;
  const { resolverId, claimedBy } = data as EventData<'ExecutionClaimed'>;
  return resolverId === restore.resolverId && claimedBy === restore.claimedBy;
}

/** When a call went on by this event; undefined where it did not: a denial only restricts. */
function goesOnAt({ type, data }: JudgedEvent): string | undefined {
  if (!Object.hasOwn(goingOn, type)) return undefined;
  const members = data as Readonly<Record<string, unknown>> & { readonly decision?: { readonly type: string } };
  if (members.decision?.type === 'deny') return undefined;
  return String(members[goingOn[type as keyof typeof goingOn]]);
}
