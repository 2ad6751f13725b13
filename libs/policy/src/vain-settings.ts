import type { Requirement } from '@countersign/contracts';
import type { Rule } from './rule.js';

/** A setting without an effect, or one that contradicts another, with its place in the file. */
export interface VainSetting {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** The key to report, the problem, and the check for it. The defaults of the file are filled in. */
const contradictions: readonly (readonly [key: string, message: string, has: (one: Requirement) => boolean])[] = [
  [
    'onTimeout',
    'never happens: with "expiresIn: never" there is no deadline. Write an "expiresIn", or leave "onTimeout" out',
    ({ expiresInMs, onTimeout }) => expiresInMs === 'never' && (onTimeout === 'allow' || onTimeout === 'escalate'),
  ],
  [
    'allowedDecisions',
    'lets people only deny, so the call never runs: add "approve", or write "block"',
    ({ allowedDecisions, onTimeout }) =>
      onTimeout !== 'allow' && allowedDecisions.every((decision) => decision === 'deny'),
  ],
];

/** Finds settings of rules that contradict each other. */
export function vainSettings(rules: readonly Rule[]): readonly VainSetting[] {
  return rules.flatMap(({ then }, ofRule) => {
    if (then.outcome !== 'require') return [];
    const { requirement } = then;
    return contradictions.flatMap(([key, message, has]) =>
      has(requirement) ? [{ path: ['rules', ofRule, 'then', 'require', key], message }] : [],
    );
  });
}
