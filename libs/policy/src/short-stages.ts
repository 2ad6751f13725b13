import type { Requirement } from '@countersign/contracts';
import type { Rule } from './rule.js';

/** A stage for which too few people are known. `stage` counts from 0. */
export interface ShortStage {
  readonly stage: number;
  readonly groups: readonly string[] | null;
}

/** A rule that asks for more people than there are, with its place in the file. */
export interface ShortRule {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/**
 * Finds the rules that the people known now cannot satisfy. People may be added later, so it is no error.
 * @param stageShortOf default: the people are not known
 */
export function shortStages(
  rules: readonly Rule[],
  stageShortOf: (requirement: Requirement) => ShortStage | undefined = () => undefined,
): readonly ShortRule[] {
  // Thousands of rules may ask for the same people.
  const known = new Map<string, ShortStage | undefined>();
  return rules.flatMap(({ then }, index) => {
    if (then.outcome !== 'require') return [];
    const key = JSON.stringify([then.requirement.stages, then.requirement.escalation]);
    if (!known.has(key)) known.set(key, stageShortOf(then.requirement));
    const short = known.get(key);
    return short === undefined ? [] : [{ path: ['rules', index, 'then', 'require'], message: messageOf(short) }];
  });
}

function messageOf({ stage, groups }: ShortStage): string {
  const [who, where] =
    groups === null ? ['approvers', ''] : ['people', ` in ${groups.map((group) => `"${group}"`).join(' or ')}`];
  return `too few ${who} are known${where} for stage ${String(stage + 1)}, so no call is approved: add people, or ask for fewer`;
}
