import { createLegality } from '../legality/legality.js';
import { readStored } from '../legality/stored-events.js';
import type { Story } from './story.js';

const ofPolicy: ReadonlySet<string> = new Set(['unread-policy', 'earlier-policy']);

/** The judge's words about a log: the broken rules, or what it could not prove but about the policy of the stories. */
export function wordsOf(told: Story): readonly string[] {
  const legality = createLegality(new Map());
  return told.events.flatMap((stored) => {
    const event = readStored(stored);
    const { illegal, unproven } = 'unreadable' in event ? legality.setAside(stored) : legality.judge(event);
    return [
      ...illegal.map(({ rule, detail }) => `${rule}: ${detail}`),
      ...unproven.filter((what) => !ofPolicy.has(what)),
    ];
  });
}
