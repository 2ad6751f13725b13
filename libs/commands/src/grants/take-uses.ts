import { grantStream } from '@countersign/contracts';
import { grantDecider, holdsUse } from '@countersign/domain';
import type { DecidedCall, GrantState } from '@countersign/domain';
import { crashPoint } from '@countersign/runtime';
import type { IsLost } from './grant-facts.js';
import type { CommandPorts } from '../ports.js';

/** How many grants may turn out to have ended while a request takes their uses. Beyond that people decide. */
const lostMax = 10;

/** The uses of grants that one request takes. */
export interface Uses {
  /** Returns whether the call MUST be decided without this grant. */
  readonly isLost: IsLost;
  /** Takes the uses of a decision, in the order of its calls. False: one was lost, and the request is decided again. */
  readonly take: (calls: readonly (DecidedCall | null)[]) => Promise<boolean>;
}

/** The uses of one request. A use that a call already has is taken once more for free. */
export function createUses(ports: CommandPorts, tenant: string, commandId: string): Uses {
  const lost = new Set<string>();
  const taken = new Set<string>();
  const keyOf = (grantId: string, callId: string): string => `${grantId} ${callId}`;
  return {
    isLost: (grantId, callId) => (lost.has(grantId) || lost.size > lostMax) && !taken.has(keyOf(grantId, callId)),
    take: async (calls) => {
      for (const use of calls.flatMap((call) => call?.use ?? [])) {
        const key = keyOf(use.grantId, use.callId);
        if (await takeUse(ports, use, { tenant, commandId })) {
          taken.add(key);
        } else {
          taken.delete(key);
          lost.add(use.grantId);
          return false;
        }
      }
      return true;
    },
  };
}

/**
 * Resolves to whether the call holds a use of the grant. Another process may have revoked the grant or taken its last
 * use: then the append at the expected revision finds it.
 */
async function takeUse(
  { grants, clock, decideGrant = grantDecider.decide }: CommandPorts,
  { grantId, ...use }: NonNullable<DecidedCall['use']>,
  { tenant, commandId }: { readonly tenant: string; readonly commandId: string },
): Promise<boolean> {
  if (grants === undefined) return false;
  const decide = (state: GrantState) => decideGrant({ ...use, at: clock.now() }, state);
  const meta = { tenant, callId: null, runId: null, commandId: `${commandId}:${use.callId}` };
  const handled = await grants.handler.handleCommand(grantStream(grantId), decide, meta);
  crashPoint('grant.used');
  // A repeat of the command is accepted without a decision.
  return (
    handled.status === 'accepted' && (handled.events.length > 0 || holdsUse(handled.state, use.callId, clock.now()))
  );
}
