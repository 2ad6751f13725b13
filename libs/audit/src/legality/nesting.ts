import type { EventData } from '@countersign/contracts';
import { graceMs } from '../rights/timeline.js';
import type { CallState, RequestFacts } from './call-state.js';
import { digestOf } from './digests.js';
import { illegal } from './judged-event.js';
import type { Illegal, JudgedEvent, Unproven } from './judged-event.js';
import type { KnownStreams, StreamState } from './streams.js';
import { isBeforeBy } from './times.js';

/**
 * Compares a request inside another call with that call, which was recorded before. Attack: the request names other people than
 * those of the call around it, so that one of them can approve it; or it comes after the end of a call around it.
 */
export function judgeNesting(
  event: JudgedEvent,
  request: RequestFacts,
  streams: KnownStreams,
): { readonly broken: Illegal | undefined; readonly unproven: readonly Unproven[] } {
  const { chain = [] } = event.data as EventData<'ToolCallRequested'>;
  const link = chain.at(-1);
  if (link === undefined) return { broken: undefined, unproven: [] };
  const { late, unproven } = judgeEnd(event, chain, request, streams);
  const outer = streams.get(`toolCall-${link.callId}`)?.state;
  if (outer?.kind !== 'call') return { broken: late, unproven: ['outer-call', ...unproven] };
  return { broken: isNamed(outer, chain, request) ? late : misnamed(link), unproven };
}

interface Late {
  readonly late: Illegal | undefined;
  readonly unproven: readonly Unproven[];
}

/** A process that has not seen the end yet records calls inside, and cancels them as soon as it has. */
function judgeEnd({ recordedAt }: JudgedEvent, chain: Chain, request: RequestFacts, streams: KnownStreams): Late {
  const ended = cancelledAround(chain, request, streams);
  if (ended === undefined) return { late: undefined, unproven: [] };
  return isBeforeBy(graceMs, ended.recordedAt ?? '', recordedAt)
    ? { late: illegal('request', 'a call around it was cancelled long before'), unproven: [] }
    : { late: undefined, unproven: ['inside-cancelled'] };
}

type Chain = NonNullable<EventData<'ToolCallRequested'>['chain']>;

/** The call around it that was cancelled, or one of the same principal further out. */
function cancelledAround(chain: Chain, { requestedBy }: RequestFacts, streams: KnownStreams): CallState | undefined {
  return chain
    .filter((one, index) => index === chain.length - 1 || one.requestedBy === requestedBy)
    .map(({ callId }) => streams.get(`toolCall-${callId}`)?.state)
    .find(isCancelled);
}

/** The last link of the chain is the call around it as it was requested. */
function isNamed({ request: outer }: CallState, chain: Chain, { requesters }: RequestFacts): boolean {
  const isSame = named.every((name) => chain.at(-1)?.[name] === outer[name]);
  const isWhole = outer.requesters.every((name) => requesters.includes(name));
  return isSame && isWhole && digestOf(chain.slice(0, -1)) === outer.chainDigest;
}

function misnamed({ callId }: Chain[number]): Illegal {
  return illegal('request', `it does not name the call ${callId} around it as it was requested`);
}

function isCancelled(state: StreamState | undefined): state is CallState {
  return state?.kind === 'call' && state.permission === 'cancelled';
}

/** Returns whether a call runs inside one that was cancelled: the call around it, or one of the same principal further out. */
export function isInsideCancelled({ requestedBy, parent }: RequestFacts, streams: KnownStreams): boolean {
  let outer = parent;
  for (let isNext = true; outer !== null; isNext = false) {
    const state = streams.get(`toolCall-${outer}`)?.state;
    if (state?.kind !== 'call') return false;
    const { request } = state;
    if (isCancelled(state) && (isNext || request.requestedBy === requestedBy)) return true;
    outer = request.parent;
  }
  return false;
}

const named = ['agentId', 'toolName', 'runId', 'requestedBy'] as const;
