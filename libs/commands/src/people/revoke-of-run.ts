import { grantStream } from '@countersign/contracts';
import type { GrantTerms } from '@countersign/contracts';
import { grantDecider } from '@countersign/domain';
import type { EventStore } from '@countersign/event-store';
import { createCommandHandler } from '../stream/handle-command.js';
import type { CommandPorts } from '../ports.js';

interface Ports {
  readonly commands: CommandPorts;
  readonly store: Pick<EventStore, 'append' | 'readStream' | 'lossOf'>;
}

/**
 * Revokes the grants for a cancelled run, in the name of the service. Harmless to repeat. Returns the position of the last
 * revocation, 0 when there is none. A grant whose stream cannot be read covers nothing, and stays as it is.
 */
export async function revokeOfRun(
  { commands, store }: Ports,
  tenant: string,
  runId: string,
  grants: readonly Pick<GrantTerms, 'grantId'>[],
  commandId: string,
): Promise<number> {
  const { clock, ids } = commands;
  // A process that covers no calls cancels runs, too.
  const handler =
    commands.grants?.handler ?? createCommandHandler({ store, fold: grantDecider, clock, ids, cacheSize: 1 });
  const reason = `the run ${runId} was cancelled`;
  let position = 0;
  for (const { grantId } of grants) {
    const handled = await handler.handleCommand(
      grantStream(grantId),
      (state) =>
        grantDecider.decide(
          { type: 'RevokeGrant', at: clock.now(), revokedBy: 'countersign', via: 'policy', reason },
          state,
        ),
      { tenant, callId: null, runId: null, commandId },
    );
    if (handled.status === 'accepted') position = Math.max(position, handled.position);
  }
  return position;
}
