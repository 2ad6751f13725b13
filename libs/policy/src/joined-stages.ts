import type { Stage } from '@countersign/contracts';

/**
 * The stages of both requirements. A person's vote counts in one stage, so a stage stands for at most one stage of the other
 * requirement: the stricter one of the two is asked, with the fewer denials.
 * Attack: a rule that asks two people, joined with a rule whose only stage implies both of its stages.
 */
export function stagesOf(one: readonly Stage[], other: readonly Stage[]): Stage[] {
  const pairs = pairsOf(one, other);
  const left = one.map((stage, index) => {
    const partner = other[pairs.get(index) ?? -1];
    return partner === undefined ? stage : stricter(stage, partner);
  });
  const paired = new Set(pairs.values());
  return [...left, ...other.filter((_, index) => !paired.has(index))];
}

/** The places of stages of `one`, each with that of its stage of `other`. Augmenting paths: as many pairs as possible, so as few people. */
function pairsOf(one: readonly Stage[], other: readonly Stage[]): ReadonlyMap<number, number> {
  const partners = other.map((stage) => partnersOf(stage, one));
  const pairs = new Map<number, number>();
  const place = (at: number, tried: Set<number>): boolean =>
    (partners[at]?.all ?? []).some((index) => {
      if (tried.has(index)) return false;
      tried.add(index);
      const taken = pairs.get(index);
      if (taken !== undefined && !place(taken, tried)) return false;
      pairs.set(index, at);
      return true;
    });
  const [equal, others] = [true, false].map((hasEqual) =>
    [...partners.keys()].filter((at) => partners[at]?.hasEqual === hasEqual),
  );
  for (const at of [...(equal ?? []), ...(others ?? [])]) place(at, new Set());
  return pairs;
}

/** The stages that may be asked together with this one. An equal one comes first: neither becomes stricter then. */
function partnersOf(stage: Stage, stages: readonly Stage[]): { all: readonly number[]; hasEqual: boolean } {
  const places = [...stages.entries()];
  const equal = places.filter(([, one]) => isImplied(one, stage) && isImplied(stage, one));
  const others = places.filter(([, one]) => isImplied(one, stage) !== isImplied(stage, one));
  return { all: [...equal, ...others].map(([index]) => index), hasEqual: equal.length > 0 };
}

function stricter(one: Stage, other: Stage): Stage {
  return { ...(isImplied(one, other) ? other : one), deny: Math.min(one.deny, other.deny) };
}

/** Returns whether the people who satisfy the stricter stage satisfy the other one as well. */
function isImplied({ mode, approve, groups }: Stage, stricter: Stage): boolean {
  if (mode === 'all-of') {
    return stricter.mode === 'all-of' && groups?.every((group) => stricter.groups?.includes(group) === true) === true;
  }
  const isWithin = groups === null || stricter.groups?.every((group) => groups.includes(group)) === true;
  return isWithin && approve <= stricter.approve;
}
