import type { Refusal } from '@countersign/contracts';
import { principalKey } from '@countersign/commands';
import { createRateLimit } from '@countersign/runtime';
import type { Clock, Log, Rate } from '@countersign/runtime';
import { typeLabel } from './envelope.js';
import type { Envelope } from './envelope.js';
import type { LedgerMetrics } from './metrics.js';
import type { Refusals } from './refusals.js';
import { commandIdOf } from './requester.js';
import type { Requester } from './requester.js';

/** A message that is understood and not carried out. */
export interface Refused {
  readonly envelope: Envelope;
  readonly requester: Requester;
  readonly refusal: Refusal;
  readonly toolCallIds?: readonly string[];
  readonly runId?: string;
}

/** Logs, counts and records refusals. */
export type Refuse = (refused: Refused) => Promise<'refused'>;

const defaultRate: Rate = { burst: 100, perSecond: 10 };

/** All messages without a proven principal share one budget. No budget of a principal has this name. */
const unproven = 'unproven';

/**
 * Refusals over the tenants' streams, at a bounded rate. `rate`: of one principal and code, and of all messages without a
 * proven principal together. Default: a burst of 100, then 10 a second.
 */
export function createRefuse(ports: {
  readonly refusals: Refusals;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: LedgerMetrics | undefined;
  readonly rate?: Rate | undefined;
}): Refuse {
  const { refusals, clock, log, metrics, rate = defaultRate } = ports;
  const mayRecord = createRateLimit(rate, clock);
  return async ({ envelope, requester, refusal, toolCallIds = [], runId = null }) => {
    const { code } = refusal;
    const { tenant, principal } = senderOf(requester);
    const fields = { requestId: envelope.id, type: typeLabel(envelope.type), code, tenant };
    log.warn({ ...fields, ...(principal !== undefined && { principal }) }, 'a request is refused');
    metrics?.refused(code);
    // Attack: a flood of refused messages of one sender, so that the refusals of others are not recorded.
    if (!mayRecord(budgetOf(requester, code))) {
      metrics?.refusalDropped();
      return 'refused';
    }
    const named = { requestId: envelope.id, code, detail: detailOf(refusal), toolCallIds: withinBytes(toolCallIds) };
    const retryAfterMs = refusal.extra?.['retryAfterMs'];
    const data = {
      ...named,
      ...(typeof retryAfterMs === 'number' && { retryAfterMs }),
      ...(principal !== undefined && { principal }),
    };
    await refusals.record({ tenant, runId, commandId: commandIdOf(envelope, requester), data });
    return 'refused';
  };
}

function senderOf(requester: Requester): { readonly tenant: string; readonly principal?: string } {
  return requester.status === 'unverified' ? { tenant: requester.tenant } : requester.actor;
}

/** A late signature proves no sender: anybody may have kept a copy of the message. */
function budgetOf(requester: Requester, code: string): string {
  const isProven = requester.status === 'signed' || requester.status === 'unsigned';
  return isProven ? `${principalKey(requester.actor)}\n${code}` : unproven;
}

/** With the rest of the event an append fits into EventStoreDB's limit of 1 MiB. */
const namedBytesMax = 512 * 1024;

/** As many of the ids as an event can hold. Attack: a step of 256 calls whose ids are as long as they may be. */
function withinBytes(ids: readonly string[]): string[] {
  let bytes = 0;
  const isBeyond = (id: string): boolean => (bytes += Buffer.byteLength(JSON.stringify(id))) > namedBytesMax;
  const end = ids.findIndex(isBeyond);
  return end < 0 ? [...ids] : ids.slice(0, end);
}

const detailLengthMax = 2000;

function detailOf({ detail, errors = [] }: Refusal): string {
  const where = errors.map(({ path, message }) => `${path}: ${message}`).filter((each) => !detail.includes(each));
  return [detail, ...where].join('; ').slice(0, detailLengthMax);
}
