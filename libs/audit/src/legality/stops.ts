import type { EventData, StopScope } from '@countersign/contracts';
import { globOf } from '../policy/globs.js';
import type { CallState } from './call-state.js';
import { illegal } from './judged-event.js';
import type { JudgedEvent, Judgement } from './judged-event.js';
import type { KnownStreams, StreamState } from './streams.js';
import { isBeforeBy, skewMsMax } from './times.js';

/** The stops of the tenant that hold. */
export interface StopRecord {
  /** Judges an event by which a call goes on. `before`: the state of its stream before it. */
  readonly judge: (event: JudgedEvent, before: StreamState | undefined) => Judgement;
  readonly take: (event: JudgedEvent) => void;
  /** Notes an event of the stops that cannot be read: which of them hold is unknown from then on. */
  readonly lose: (event: Pick<JudgedEvent, 'stream'>) => void;
}

interface Holding {
  readonly scope: StopScope;
  readonly declaredAt: string;
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

/** No stop holds yet. Attack: a process that does not look at the stops approves, or runs, what a person has stopped. */
export function createStops(streams: KnownStreams): StopRecord {
  const holding = new Map<string, Holding>();
  /** The attempts, by their stream, that a stop would have held back if a restore had not begun them. */
  const ofRestores = new Map<string, number>();
  let isLost = false;
  const parentOf = ({ request: { parent } }: CallState): CallState | undefined => {
    const state = parent === null ? undefined : streams.get(`toolCall-${parent}`)?.state;
    return state?.kind === 'call' ? state : undefined;
  };
  const covers = ({ agentId, toolName }: StopScope, call: CallState | undefined): boolean => {
    if (call === undefined) return false;
    const { request } = call;
    const isNamed = isOf(agentId, request.agentId) && isOf(toolName, request.toolName);
    return isNamed || covers({ tenant: null, agentId, toolName }, parentOf(call));
  };
  const heldAt = (at: string, call: CallState): boolean =>
    [...holding.values()].some(
      ({ scope, declaredAt }) =>
        isOf(scope.tenant, call.request.tenant) && isBeforeBy(graceMs, declaredAt, at) && covers(scope, call),
    );
  /** Attack: a process that runs what is stopped claims it in the name of a restore. */
  const runsForRestore = ({ type, stream, data }: JudgedEvent): boolean => {
    const isReport = type === 'ExecutionSucceeded' || type === 'ExecutionFailed';
    return isReport && ofRestores.get(stream) === (data as { readonly attempt: number | null }).attempt;
  };
  return {
    judge: (event, before) => {
      const at = goesOnAt(event);
      if (before?.kind !== 'call') return { illegal: [], unproven: [] };
      if (at === undefined)
        return { illegal: runsForRestore(event) ? [illegal('stop', ranForRestore)] : [], unproven: [] };
      const isHeld = heldAt(at, before);
      if (isHeld && isOfRestore(event, before)) {
        ofRestores.set(event.stream, before.execution.attempt + 1);
        return { illegal: [], unproven: [] };
      }
      const found = isHeld ? [illegal('stop', 'a person had stopped calls like this one')] : [];
      return { illegal: found, unproven: isLost ? ['leans-on-set-aside'] : [] };
    },
    take: ({ type, data }) => {
      if (type === 'StopDeclared') {
        const { stopId, scope, declaredAt } = data as Declared;
        holding.set(stopId, { scope, declaredAt });
      }
      if (type === 'StopLifted') holding.delete((data as { readonly stopId: string }).stopId);
    },
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

interface Declared extends Holding {
  readonly stopId: string;
}

/** When a call went on by this event; undefined where it did not: a denial only restricts. */
function goesOnAt({ type, data }: JudgedEvent): string | undefined {
  if (!Object.hasOwn(goingOn, type)) return undefined;
  const members = data as Readonly<Record<string, unknown>> & { readonly decision?: { readonly type: string } };
  if (members.decision?.type === 'deny') return undefined;
  return String(members[goingOn[type as keyof typeof goingOn]]);
}

function isOf(glob: string | null, name: string): boolean {
  return glob === null || globOf(glob)(name);
}
