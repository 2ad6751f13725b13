import type { EventData } from '@countersign/contracts';
import type { RequestFacts } from './call-state.js';
import { digestOf } from './digests.js';
import { illegal } from './judged-event.js';
import type { Illegal, JudgedEvent, Unproven } from './judged-event.js';
import type { KnownStreams } from './streams.js';

/**
 * Compares a request inside another call with that call, which was recorded before. Attack: the request names other people than
 * those of the call around it, so that one of them can approve it.
 */
export function judgeNesting(
  event: JudgedEvent,
  { requesters }: RequestFacts,
  streams: KnownStreams,
): { readonly broken: Illegal | undefined; readonly unproven: readonly Unproven[] } {
  const { chain = [] } = event.data as EventData<'ToolCallRequested'>;
  const link = chain.at(-1);
  if (link === undefined) return { broken: undefined, unproven: [] };
  const outer = streams.get(`toolCall-${link.callId}`)?.state;
  if (outer?.kind !== 'call') return { broken: undefined, unproven: ['outer-call'] };
  const isSame = named.every((name) => link[name] === outer.request[name]);
  const isWhole = outer.request.requesters.every((name) => requesters.includes(name));
  const isChain = digestOf(chain.slice(0, -1)) === outer.request.chainDigest;
  const broken = illegal('request', `it does not name the call ${link.callId} around it as it was requested`);
  return { broken: isSame && isWhole && isChain ? undefined : broken, unproven: [] };
}

const named = ['agentId', 'toolName', 'runId', 'requestedBy'] as const;
