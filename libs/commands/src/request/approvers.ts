import { shortageDetail, shortageOf, withVotersNow } from '@countersign/domain';
import type { Approval, PossibleApprover, ToolCall, ToolCallProposal } from '@countersign/domain';
import { aliasesOf } from '../people/aliases.js';
import { votersOf } from '../people/voters.js';
import type { CommandPorts } from '../ports.js';

type ApproverPorts = Pick<CommandPorts, 'people' | 'policies'>;

/**
 * The approvers of a tenant, under all their names. Null where a sign-in provider gives the role, or the process has no
 * tokens file: then they are not known.
 */
export function allApproversOf(
  { people, policies }: ApproverPorts,
  tenant: string,
): readonly PossibleApprover[] | null {
  const ids = people?.approvers(tenant);
  if (ids === undefined) return null;
  return ids.map((id) => ({
    names: [id, ...aliasesOf({ people, policies }, tenant, id)],
    groups: [...(people?.approver(tenant, id)?.groups ?? []), ...policies.of(tenant).groupsOf(id)],
  }));
}

/** The approvers, where one of these calls names people or a parent. Null otherwise, and where they are not known. */
export function approversOf(
  ports: ApproverPorts,
  tenant: string,
  calls: readonly Pick<ToolCallProposal, 'onBehalfOf' | 'chain'>[],
): readonly PossibleApprover[] | null {
  const isNamed = calls.some(({ onBehalfOf, chain }) => onBehalfOf !== undefined || chain !== undefined);
  return isNamed ? allApproversOf(ports, tenant) : null;
}

/** What a pending approval lacks: `stage` is the place in its progress, from 0. */
export interface MissingApprovers {
  readonly stage: number;
  readonly detail: string;
}

/**
 * Returns the stage of a pending approval that the approvers who are left cannot satisfy; null: there is none, or the
 * approvers are not known.
 */
export function missingApprovers(
  ports: Pick<CommandPorts, 'people' | 'policies' | 'clock'>,
  call: ToolCall,
  approval: Approval,
  approvers: readonly PossibleApprover[] | null,
): MissingApprovers | null {
  if (approvers === null || approval.resolution.status !== 'pending') return null;
  const now = withVotersNow({ call, approval }, votersOf(ports, call.request.tenant, approval, ports.clock.now()));
  const shortage = shortageOf(call, now, approvers);
  return shortage === undefined ? null : { stage: shortage.stage, detail: shortageDetail(shortage) };
}
