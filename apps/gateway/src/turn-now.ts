import { takeTurn } from '@countersign/commands';
import type { Result } from '@countersign/commands';
import { shownMsMax } from './conclude.js';
import type { GatewayPorts } from './ports.js';
import { whenShown } from './visibility.js';

/**
 * Gives the first call of a queue its turn at once after a write, so that the answer shows it allowed or asked. Where this
 * process cannot, the projector does it.
 */
export async function withTurnNow<T>(
  ports: GatewayPorts,
  tenant: string,
  outcome: Result<T>,
  callId: string | undefined,
): Promise<Result<T>> {
  if (outcome.status === 'refused' || callId === undefined) return outcome;
  await whenShown(ports, outcome.position, shownMsMax);
  const first = ports.readModel.firstInQueueOf(tenant, callId);
  if (first?.waits !== true) return outcome;
  const position = await takeTurn(ports.commands, first).catch(() => null);
  return position === null ? outcome : { ...outcome, position: Math.max(outcome.position, position) };
}
