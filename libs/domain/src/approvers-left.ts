import type { Requirement } from '@countersign/contracts';
import { normalised } from './identity.js';
import { peopleOf } from './requirement.js';
import type { ToolCallProposal } from './tool-call.commands.js';

/** An approver as known now, under all their names. */
export interface PossibleApprover {
  readonly names: readonly string[];
  readonly groups: readonly string[];
}

type Lineage = Pick<ToolCallProposal, 'requestedBy' | 'owner' | 'onBehalfOf' | 'chain'>;

/**
 * The place of the first stage that lacks people only because of the names that the agent chose: the person for whom it
 * says that it acts, and the people of the calls around this one. Undefined: every stage can still be satisfied, or it
 * could not be anyway. Attack: an agent names the strict approvers, so that only the one that it prefers is left.
 */
export function stageWithoutApprovers(
  { stages, fourEyes }: Requirement,
  { requestedBy, owner, onBehalfOf, chain = [] }: Lineage,
  approvers: readonly PossibleApprover[],
): number | undefined {
  const links = chain.flatMap((link) => [link.requestedBy, link.owner, link.onBehalfOf]);
  const chosen = [onBehalfOf, ...links];
  if (!fourEyes || chosen.every((name) => name === undefined)) return undefined;
  const before = without(approvers, [requestedBy, owner]);
  const left = without(before, chosen);
  const index = stages.findIndex((stage) => canSatisfy(stage, before) && !canSatisfy(stage, left));
  return index === -1 ? undefined : index;
}

function without(
  approvers: readonly PossibleApprover[],
  excluded: readonly (string | undefined)[],
): readonly PossibleApprover[] {
  const names = new Set(excluded.flatMap((name) => (name === undefined ? [] : [normalised(name)])));
  return approvers.filter((approver) => !approver.names.some((name) => names.has(normalised(name))));
}

function canSatisfy(stage: Requirement['stages'][number], approvers: readonly PossibleApprover[]): boolean {
  const { mode, groups } = stage;
  const isOf = (wanted: readonly string[]) => (one: PossibleApprover) =>
    wanted.some((group) => one.groups.includes(group));
  if (mode === 'all-of' && groups !== null) return groups.every((group) => approvers.some(isOf([group])));
  const able = groups === null ? approvers : approvers.filter(isOf(groups));
  return able.length >= peopleOf(stage);
}
