import type { RecordedEvent, Verdict } from '@countersign/contracts';
import { at } from './checker.ts';
import type { CreateChecker } from './checker.ts';

/** Every verdict cites a policy that was recorded before it. */
export const policyReload: CreateChecker = (_, fail) => {
  const activated = new Set<unknown>();
  return {
    onRecorded: (event) => {
      if (event.type === 'PolicyActivated') activated.add(at(event, 'policyVersion'));
      const verdict = verdictOf(event);
      if (verdict === undefined || activated.has(verdict.policyVersion)) return;
      fail(`${event.type} of ${event.stream} cites ${verdict.policyVersion}, which is not recorded`);
    },
  };
};

function verdictOf(event: RecordedEvent): Verdict | undefined {
  const decision = at(event, 'decision') as { readonly verdict?: Verdict } | undefined;
  return (at(event, 'verdict') as Verdict | undefined) ?? decision?.verdict;
}
