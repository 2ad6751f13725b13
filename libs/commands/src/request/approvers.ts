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
  if (people === undefined || ids === undefined) return null;
  const policy = policies.of(tenant);
  const known = knownApprovers.get(ids);
  if (known?.policy === policy) return known.approvers;
  const listed = ids.map((id) => ({
    names: [id, ...aliasesOf({ people, policies }, tenant, id)],
    groups: [...(people.approver(tenant, id)?.groups ?? []), ...policy.groupsOf(id)],
  }));
  const crowds = people.crowds?.(tenant) ?? [];
  const approvers = [...listed, ...crowds.map((groups) => ({ names: [], groups, isMany: true as const }))];
  knownApprovers.set(ids, { policy, approvers });
  return approvers;
}

/** By the list of their ids, which is another one as soon as the tokens change. Each response with an approval asks. */
const knownApprovers = new WeakMap<readonly string[], KnownApprovers>();

interface KnownApprovers {
  readonly policy: object;
  readonly approvers: readonly PossibleApprover[];
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

/** The votes that would not count if it were decided now, by their numbers, and the approval without them; null: none. */
export function lostVotes(
  ports: Pick<CommandPorts, 'people' | 'policies' | 'clock'>,
  call: ToolCall,
  approval: Approval,
): { readonly numbers: readonly number[]; readonly now: Approval } | null {
  if (approval.resolution.status !== 'pending') return null;
  const now = withVotersNow({ call, approval }, votersOf(ports, call.request.tenant, approval, ports.clock.now()));
  const numbers = now.votes.flatMap(({ status }, at) => (status === approval.votes[at]?.status ? [] : [at + 1]));
  return numbers.length === 0 ? null : { numbers, now };
}

type Voted = Pick<ToolCall, 'approvals'>;

/**
 * A call with the votes alone that would count if it were decided now, as channels show it. `call` is a row of a read model: the
 * rules about people read nothing that it leaves in the log.
 */
export function withVotesNow<Call extends Voted>(
  ports: Pick<CommandPorts, 'people' | 'policies' | 'clock'>,
  call: Call,
): Call {
  const approval = call.approvals.at(-1);
  const lost = approval && lostVotes(ports, call as unknown as ToolCall, approval);
  return lost === undefined || lost === null
    ? call
    : { ...call, approvals: [...call.approvals.slice(0, -1), lost.now] };
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
