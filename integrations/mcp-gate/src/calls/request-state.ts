import { createHmac, timingSafeEqual } from 'node:crypto';
import { jcsDigest, type JsonValue } from '@countersign/contracts';
import { z } from 'zod';
import type { GateOptions } from './gate-options.js';

/** A call of which a stateless client waits for the decision. */
export interface WaitingCall {
  readonly toolCallId: string;
  /** The rounds that the client has waited. */
  readonly round: number;
}

/** A tool and its arguments. */
export interface CalledAction {
  readonly name: string;
  readonly args: JsonValue;
}

/** The state that a stateless client carries from one round of its request to the next. */
export interface RequestStates {
  readonly seal: (call: WaitingCall, action: CalledAction) => string;
  /** Returns undefined for a state that this gate has not given for this action in this run, and for one that is too old. */
  readonly open: (state: string, action: CalledAction) => WaitingCall | undefined;
}

const prefix = 'approval.';
/** People may decide late, and the approval has a deadline of its own. */
const ageMsMax = 86_400_000;

const contentSchema = z.object({
  toolCallId: z.string(),
  round: z.number(),
  bound: z.string(),
  sealedAt: z.number(),
});

/**
 * A state names the call, and has a proof that only a holder of the token can make. The attack: a client changes the
 * arguments between two rounds, or takes the state of another call. The state gives no right by itself: the ledger has the
 * decision, and lets a call run once, however often the state is used.
 *
 * @param now the time in ms since 1970.
 */
export function createRequestStates(
  { resolverToken, runId, endpoint, agentId }: Pick<GateOptions, 'resolverToken' | 'runId' | 'endpoint' | 'agentId'>,
  now: () => number,
): RequestStates {
  const proofOf = (content: string): string =>
    createHmac('sha256', resolverToken).update(`mcp-request-state ${content}`).digest('base64url');
  const boundTo = ({ name, args }: CalledAction): string => jcsDigest({ name, args, runId, endpoint, agentId });
  return {
    seal: (call, action) => {
      const json = JSON.stringify({ ...call, bound: boundTo(action), sealedAt: now() });
      const content = Buffer.from(json).toString('base64url');
      return `${prefix}${content}.${proofOf(content)}`;
    },
    open: (state, action) => {
      const [, content = '', proof = ''] = /^approval\.([\w-]+)\.([\w-]{43})$/.exec(state) ?? [];
      if (content === '' || !timingSafeEqual(Buffer.from(proof), Buffer.from(proofOf(content)))) return undefined;
      const read = contentSchema.safeParse(JSON.parse(Buffer.from(content, 'base64url').toString('utf8')));
      if (!read.success) return undefined;
      const { toolCallId, round, bound, sealedAt } = read.data;
      return bound === boundTo(action) && now() - sealedAt <= ageMsMax ? { toolCallId, round } : undefined;
    },
  };
}

/** The state of a request is not one of this gate for this request. */
export class ForeignStateError extends Error {
  override readonly name = 'ForeignStateError';
  constructor() {
    super('Invalid params: requestState does not belong to this request. Call again without it');
  }
}
