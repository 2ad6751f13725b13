import { printable } from './marks.js';
import { quotedName } from './people-words.js';

/**
 * Labels in words: `env: prod, team: "a, b"`; empty when there are none. The page of the inbox marks unseen characters
 * itself; everything else uses `labelWords`.
 */
export function plainLabelWords(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${quotedName(name)}: ${quotedName(value)}`)
    .join(', ');
}

/** Labels in words, with every character visible. */
export function labelWords(labels: Readonly<Record<string, string>>): string {
  return printable(plainLabelWords(labels));
}
