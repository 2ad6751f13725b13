import type { CommandPorts } from '@countersign/commands';
import { operatorTenant } from '@countersign/contracts';
import { isInForce, stoppedCallsWords } from '@countersign/domain';
import type { Stop } from '@countersign/domain';
import type { ReadinessCheck } from '@countersign/shell';

/**
 * Names the stops of the operator, and the one by a file. The process is ready: people deny and cancel. Who declared a stop and why is
 * for people with a token, because `/readyz` may be public; so are the stops of other tenants.
 */
export function createStopsCheck({ stops }: Pick<CommandPorts, 'stops'>): ReadinessCheck {
  return {
    name: 'stops',
    check: async () => {
      try {
        const inForce = (await stops.fresh(operatorTenant)).filter(isInForce);
        return inForce.length === 0 ? { status: 'ok' } : { status: 'ok', note: noteOf(inForce) };
      } catch {
        return { status: 'ok', note: 'the stops cannot be read: no call is granted or claimed' };
      }
    },
  };
}

const shownMax = 5;

function noteOf(stops: readonly Stop[]): string {
  const shown = stops
    .slice(0, shownMax)
    .map(({ stopId, scope, declaredAt }) => `${stopId} stops ${stoppedCallsWords(scope)} since ${declaredAt}`);
  const more = stops.length > shownMax ? `; and ${String(stops.length - shownMax)} more` : '';
  return `${shown.join('; ')}${more}. \`countersign status\` says who declared them, and why`;
}
