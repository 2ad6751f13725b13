import type { Actor } from '@countersign/commands';
import type { EraseSubject, ErasuresQuery } from '@countersign/contracts';
import { ok, refused, written } from './answer.js';
import type { Answer } from './answer.js';
import type { WriteContext } from './conclude.js';
import type { GatewayPorts } from './ports.js';

/** `POST /v1/subjects/erase`. */
export async function eraseSubject(
  ports: GatewayPorts,
  { actor, commandId }: WriteContext,
  body: EraseSubject,
): Promise<Answer> {
  const { erasures, metrics, readModel } = ports;
  if (erasures === undefined) return notSupported();
  if (body.dryRun === true) {
    return written(200, await erasures.preview(actor, body), readModel.checkpoint());
  }
  const result = await erasures.erase(actor, body, commandId);
  metrics.commandEnded('EraseSubject', result.status === 'refused' ? result.refusal.code : 'done');
  if (result.status === 'refused') return refused(result.refusal);
  return written(200, result.value, result.position);
}

/** `GET /v1/audit/erasures`. The log of record says who asked, and about which call; never the name of a subject. @throws the signal's reason. */
export async function pastErasures(
  { erasures, use }: Pick<GatewayPorts, 'erasures' | 'use'>,
  actor: Actor,
  query: ErasuresQuery,
  signal: AbortSignal,
): Promise<Answer> {
  if (erasures === undefined) return notSupported();
  const { callId } = query;
  await use?.auditRead(actor, { what: 'list', values: 'masked', ...(callId !== undefined && { callId }) });
  return ok({ erasures: await erasures.past(actor.tenant, query, signal) });
}

function notSupported(): Answer {
  const detail =
    'this cluster records sensitive values in clear, so there is nothing to erase: start a keeper, and set COUNTERSIGN_KEEPER_URL to it (docs/privacy.md)';
  return refused({ code: 'not-supported', detail });
}
