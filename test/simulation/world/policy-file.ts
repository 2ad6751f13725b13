import { recordPolicy } from '@countersign/commands';
import { createDecidingClock, EventStoreUnavailableError } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import type { LivePolicies, PolicyContent } from '@countersign/policy';
import { sleep } from '@countersign/runtime';
import type { Machine } from './machine.ts';
import { policyFiles } from './policies.ts';
import type { World } from './world.ts';

/** Returns the content of the policy file now: it is replaced once, while there are faults. */
export function drawPolicyFile({ random, clock, without }: World): () => PolicyContent {
  const replacedAtMs = random.below(90_000);
  const { first, next } = policyFiles({ fourEyes: without !== 'four-eyes', hasQuotas: random.chance(0.5) });
  return () => (clock.monotonic() < replacedAtMs ? first : next);
}

/**
 * Follows the policy file in a process that judges, as the product's follower does: every version is recorded before it
 * judges. Resolves when the first one is recorded.
 */
export async function followPolicy(
  { world, policyFile }: { readonly world: World; readonly policyFile: () => PolicyContent },
  { clock }: Machine,
  store: EventStore,
  policies: LivePolicies,
): Promise<void> {
  const put = async (content: PolicyContent): Promise<void> => {
    while (world.without !== 'policy-record') {
      try {
        await recordPolicy(store, content, new Date(createDecidingClock(store.clock).now()).toISOString());
        break;
      } catch (error) {
        if (!(error instanceof EventStoreUnavailableError)) throw error;
        await sleep(clock, 500);
      }
    }
    policies.activate(content);
  };
  const follow = async (): Promise<void> => {
    while (!world.isHealed()) {
      await sleep(clock, 1_000 + world.random.below(2_000));
      const content = policyFile();
      if (policies.of(content.tenant).version !== content.version) await put(content);
    }
  };
  await put(policyFile());
  void follow();
}
