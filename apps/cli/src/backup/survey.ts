import { tenantOf } from '@countersign/audit';
import type { StoredEvent } from '@countersign/contracts';
import type { SourceEvent } from '../audit/log-source.js';

/** What a log says about calls that could run, or run again, and about all that a backup must have. */
export interface Survey {
  /** How many events each tenant has. */
  readonly tenants: ReadonlyMap<string, number>;
  /** The faults of the log, in words. */
  readonly damage: readonly string[];
  /** The ids of the keys that its sensitive values need. */
  readonly keys: ReadonlySet<string>;
  readonly open: OpenWork;
  /** The ids of the stops that are in force. */
  readonly stops: readonly string[];
}

/** The ids of the calls and grants with a right that a restore takes from them. */
export interface OpenWork {
  /** Claimed without an outcome, or claimable again. */
  readonly claimed: readonly string[];
  /** Approved or allowed, and not claimed. */
  readonly permitted: readonly string[];
  readonly pending: readonly string[];
  readonly grants: readonly string[];
}

type Standing = Exclude<keyof OpenWork, 'grants'>;

/** How many faults are told. */
const damageMax = 20;

/** Reads a log once. `onEvent` returns false to end early; then the result is undefined. */
export async function survey(
  events: AsyncIterable<SourceEvent> | Iterable<SourceEvent>,
  onEvent: (done: number) => boolean,
): Promise<Survey | undefined> {
  const tenants = new Map<string, number>();
  const damage: string[] = [];
  const keys = new Set<string>();
  const calls = new Map<string, Standing>();
  const grants = new Set<string>();
  const stops = new Set<string>();
  for await (const { stored, damage: found, done } of events) {
    if (!onEvent(done)) return undefined;
    damage.push(...found.slice(0, damageMax - damage.length).map(({ detail }) => detail));
    if (stored === undefined) continue;
    const tenant = tenantOf(stored);
    if (tenant !== undefined) tenants.set(tenant, (tenants.get(tenant) ?? 0) + 1);
    const key = keyOf(stored);
    if (key !== undefined) keys.add(key);
    follow(stored, calls, grants);
    followStops(stored, stops);
  }
  const of = (standing: Standing): readonly string[] =>
    [...calls].flatMap(([callId, one]) => (one === standing ? [callId] : []));
  const open = { claimed: of('claimed'), permitted: of('permitted'), pending: of('pending'), grants: [...grants] };
  return { tenants, damage, keys, open, stops: [...stops] };
}

function keyOf({ metadata }: StoredEvent): string | undefined {
  const { sealed } = (metadata ?? {}) as { readonly sealed?: { readonly key?: unknown } };
  return typeof sealed?.key === 'string' ? sealed.key : undefined;
}

function follow({ stream, type, data }: StoredEvent, calls: Map<string, Standing>, grants: Set<string>): void {
  if (stream.startsWith('grant-')) {
    if (type === 'GrantCreated' || type === 'GrantConfirmed') grants.add(stream.slice('grant-'.length));
    if (type === 'GrantRevoked') grants.delete(stream.slice('grant-'.length));
    return;
  }
  if (!stream.startsWith('toolCall-')) return;
  const callId = stream.slice('toolCall-'.length);
  const next = standingAfter(type, data);
  if (next === 'ended') calls.delete(callId);
  else if (next !== undefined) calls.set(callId, next);
}

function followStops({ type, data }: StoredEvent, stops: Set<string>): void {
  if (type !== 'StopDeclared' && type !== 'StopLifted') return;
  const { stopId } = data as { readonly stopId: string };
  if (type === 'StopDeclared') stops.add(stopId);
  else stops.delete(stopId);
}

/** Where the call stands after an event; undefined: as before. */
function standingAfter(type: string, data: unknown): Standing | 'ended' | undefined {
  const { resolution, status, decision } = (data ?? {}) as {
    readonly resolution?: unknown;
    readonly status?: unknown;
    readonly decision?: { readonly type?: unknown };
  };
  switch (type) {
    case 'ToolCallAllowed':
      return 'permitted';
    case 'ApprovalRequested':
    case 'ToolCallQueued':
      return 'pending';
    case 'ApprovalResponded':
      if (resolution === 'approved') return decision?.type === 'answer' ? 'ended' : 'permitted';
      return resolution === 'denied' ? 'ended' : undefined;
    case 'ExecutionClaimed':
    case 'ExecutionLapsed':
      return 'claimed';
    case 'ExecutionReconciled':
      return status === 'retry' ? 'claimed' : 'ended';
    case 'ToolCallBlocked':
    case 'ToolCallCancelled':
    case 'ApprovalExpired':
    case 'ApprovalLapsed':
    case 'ExecutionSucceeded':
    case 'ExecutionFailed':
    case 'ExecutionOutcomeUnknown':
      return 'ended';
    default:
      return undefined;
  }
}
