import type { PossibleApprover, ToolCallProposal } from '@countersign/domain';
import { aliasesOf } from '../people/aliases.js';
import type { CommandPorts } from '../ports.js';

/**
 * The approvers, where one of these calls names people or a parent. Null otherwise, and also where a sign-in provider
 * gives the role, or the process has no tokens file: then they are not known.
 */
export function approversOf(
  { people, policies }: Pick<CommandPorts, 'people' | 'policies'>,
  tenant: string,
  calls: readonly Pick<ToolCallProposal, 'onBehalfOf' | 'chain'>[],
): readonly PossibleApprover[] | null {
  const isNamed = calls.some(({ onBehalfOf, chain }) => onBehalfOf !== undefined || chain !== undefined);
  const ids = isNamed ? people?.approvers(tenant) : undefined;
  if (ids === undefined) return null;
  return ids.map((id) => ({
    names: [id, ...aliasesOf({ people, policies }, tenant, id)],
    groups: [...(people?.approver(tenant, id)?.groups ?? []), ...policies.of(tenant).groupsOf(id)],
  }));
}
