import type { FieldError } from '@countersign/contracts';
import { stageWithoutApprovers } from '@countersign/domain';
import type { PossibleApprover } from '@countersign/domain';
import type { Judgement } from '@countersign/policy';
import { aliasesOf } from './aliases.js';
import type { Plan } from './plan-call.js';
import type { CommandPorts } from './ports.js';
import { refused } from './result.js';
import type { Refused } from './with-tool-call.js';

type Ports = Pick<CommandPorts, 'policies' | 'people'>;

/**
 * Refuses new calls whose `onBehalfOf` or `parentCallId` excludes all approvers of a stage. Where a sign-in provider
 * gives the role, or the process has no tokens file, the approvers are not known, and nothing is refused.
 */
export function noApproverLeft(
  ports: Ports,
  plans: readonly Plan[],
  judgements: readonly Judgement[],
): Refused | undefined {
  const named = plans.flatMap((plan, index) => (isNamed(plan, judgements[index]) ? [index] : []));
  const [first] = plans;
  if (named.length === 0 || first === undefined) return undefined;
  const approvers = approversOf(ports, first.proposal.tenant);
  if (approvers === undefined) return undefined;
  const errors = named.flatMap((index): FieldError[] => {
    const [plan, judgement] = [plans[index], judgements[index]];
    if (plan === undefined || judgement === undefined) return [];
    const stage = stageWithoutApprovers(judgement.requirement, plan.proposal, approvers);
    if (stage === undefined) return [];
    const message = `onBehalfOf and parentCallId leave too few approvers for stage ${String(stage + 1)} of "${judgement.verdict.ruleId}"`;
    return [{ path: `calls.${String(index)}`, message }];
  });
  const [error] = errors;
  return error === undefined ? undefined : refused('no-approver-left', `${error.path}: ${error.message}`, { errors });
}

function isNamed({ state, proposal }: Plan, judgement: Judgement | undefined): boolean {
  const isNew = state.status === 'unrequested' && judgement?.verdict.outcome === 'require';
  return isNew && (proposal.onBehalfOf !== undefined || proposal.chain !== undefined);
}

function approversOf(ports: Ports, tenant: string): readonly PossibleApprover[] | undefined {
  const ids = ports.people?.approvers(tenant);
  return ids?.map((id) => ({
    names: [id, ...aliasesOf(ports, tenant, id)],
    groups: [...(ports.people?.approver(tenant, id)?.groups ?? []), ...ports.policies.of(tenant).groupsOf(id)],
  }));
}
