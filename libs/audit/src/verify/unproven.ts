import type { Unproven } from '../legality/judged-event.js';

/** Counts what could not be proven about single events. */
export interface UnprovenCounts {
  readonly add: (what: Unproven | 'outside') => void;
  readonly sentences: (unrecordedPolicies: readonly string[]) => readonly string[];
}

/** Nothing is counted yet. */
export function createUnproven(): UnprovenCounts {
  const counts = new Map<Unproven | 'outside', number>();
  return {
    add: (what) => {
      counts.set(what, (counts.get(what) ?? 0) + 1);
    },
    sentences: (policies) => [
      ...[...counts].map(([what, count]) => `${events(count)} ${words[what]}`),
      ...(policies.length === 0
        ? []
        : [
            `the content of ${String(policies.length)} cited policies is not in the log: ${policies.slice(0, 3).join(', ')}`,
          ]),
      identity,
    ],
  };
}

const words: Readonly<Record<Unproven | 'outside', string>> = {
  'sealed-values': 'with sealed or erased values: their action or proposal digest was not recomputed',
  'set-aside': 'after an event of their stream that cannot be read: not judged',
  outside: 'outside of --from and --to: not judged by themselves',
};

const identity = 'that each person is who the sign-in, the chat or the front end said, and had the recorded groups';

function events(count: number): string {
  return count === 1 ? '1 event' : `${String(count)} events`;
}
