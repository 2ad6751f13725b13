import { hash } from 'node:crypto';
import { findCall, isForbiddenToRun, receiptOf, stopOf, UnreadableStreamError } from '@countersign/commands';
import type { Actor, ClaimReceipt } from '@countersign/commands';
import type { ReceiptClaims } from '@countersign/contracts';
import type { Receipts } from '@countersign/shell';
import { ok, refused } from './answer.js';
import type { Answer } from './answer.js';
import type { GatewayPorts } from './ports.js';

/** The answer to an introspection (RFC 7662). */
export type Introspection = { readonly active: false } | ({ readonly active: true } & ReceiptClaims);

/**
 * `POST /v1/receipts/introspect`: whether the claim of a receipt may still run its tool. Every reason why it may not looks the
 * same, as does the receipt of another tenant.
 */
export async function introspectReceipt(ports: GatewayPorts, { tenant }: Actor, receipt: string): Promise<Answer> {
  const { receipts } = ports;
  if (receipts === undefined) return refused({ code: 'not-supported', detail: noKey });
  const claims = receipts.read(tenant, receipt);
  const isActive = claims !== undefined && (await isRunning(ports, tenant, claims));
  return ok(isActive ? { active: true, ...claims } : { active: false });
}

const noKey =
  'this server has no key for receipts: name one with COUNTERSIGN_RECEIPT_KEY_FILE, the same for every gateway';

async function isRunning({ commands }: GatewayPorts, tenant: string, claims: ReceiptClaims): Promise<boolean> {
  const { sub, attempt, exp } = claims;
  try {
    const call = await findCall(commands, tenant, sub);
    if (call === undefined || call.execution.status !== 'claimed' || call.execution.attempt !== attempt) return false;
    await commands.stops.fresh(tenant);
    if (stopOf(commands.stops.known(tenant), call.request) !== undefined) return false;
    const now = receiptOf({ ...call, execution: call.execution });
    return isSameClaim(now, claims) && commands.clock.now() < exp * 1000 && !isForbiddenToRun(commands, call);
  } catch (error) {
    if (error instanceof UnreadableStreamError) return false;
    throw error;
  }
}

/** Attack: the log was put back to an older state, and another claim has the number of this one. */
function isSameClaim(now: ClaimReceipt | undefined, { argumentsHash, iat }: ReceiptClaims): boolean {
  return now !== undefined && now.facts.argumentsHash === argumentsHash && now.facts.iat === iat;
}

/** The public keys of a tenant as a JSON Web Key Set, and its entity tag. Without a key the set is empty. */
export function readKeySet(
  receipts: Receipts | undefined,
  tenant: string,
): { readonly text: string; readonly tag: string } {
  const text = JSON.stringify({ keys: receipts?.jwksOf(tenant) ?? [] });
  return { text, tag: `"${hash('sha256', text, 'base64url').slice(0, 22)}"` };
}
