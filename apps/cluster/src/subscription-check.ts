import type { SubscriptionStatus } from '@countersign/message-bus';
import type { ReadinessCheck } from '@countersign/shell';

/** Returns whether a consumer of the bus receives messages. */
export function subscriptionCheck(
  name: string,
  status: () => Pick<SubscriptionStatus, 'state' | 'why'> | undefined,
): ReadinessCheck {
  return {
    name,
    check: () => {
      const { state, why } = status() ?? { state: 'stopped' };
      if (state === 'running') return { status: 'ok' };
      return { status: 'failing', why: why === undefined ? state : `${state}: ${why}` };
    },
  };
}
