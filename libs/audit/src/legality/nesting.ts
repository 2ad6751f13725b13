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
  { requesters, requestedBy }: RequestFacts,
  streams: KnownStreams,
): { readonly broken: Illegal | undefined; readonly unproven: readonly Unproven[] } {
  const { chain = [] } = event.data as EventData<'ToolCallRequested'>;
  const link = chain.at(-1);
  if (link === undefined) return { broken: undefined, unproven: [] };
  const ended = chain
    .filter((one) => one === link || one.requestedBy === requestedBy)
    .map(({ callId }) => streams.get(`toolCall-${callId}`)?.state)
    .find(isCancelled);
  const isLongAgo = ended !== undefined && isBeforeBy(graceMs, ended.recordedAt ?? '', event.recordedAt);
  const late = isLongAgo ? illegal('request', 'a call around it was cancelled long before') : undefined;
  const unproven: readonly Unproven[] = ended === undefined ? [] : ['inside-cancelled'];
  const outer = streams.get(`toolCall-${link.callId}`)?.state;
  if (outer?.kind !== 'call') return { broken: late, unproven: ['outer-call', ...unproven] };
  const isSame = named.every((name) => link[name] === outer.request[name]);
  const isWhole = outer.request.requesters.every((name) => requesters.includes(name));
  const isChain = digestOf(chain.slice(0, -1)) === outer.request.chainDigest;
  const broken = illegal('request', `it does not name the call ${link.callId} around it as it was requested`);
  return { broken: isSame && isWhole && isChain ? late : broken, unproven };
}

/** A process that has not seen the end yet records calls inside, and cancels them as soon as it has. */
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
