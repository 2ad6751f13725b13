import type { FieldError, Refusal } from '@countersign/contracts';
import { noApproverDetail, stageWithoutApprovers } from './approvers-left.js';
import type { StepCall, StepFacts } from './step.facts.js';

/** Refuses calls about which people would be asked, whose `onBehalfOf` or `parentCallId` excludes all approvers of a stage. */
export function noApproverLeft(
  calls: readonly (Pick<StepCall, 'proposal' | 'judged'> & { readonly isAddition: boolean })[],
  approvers: StepFacts['approvers'],
): Refusal | undefined {
  if (approvers === null) return undefined;
  const errors = calls.flatMap(({ proposal, judged, isAddition }, index): FieldError[] => {
    if (!isAddition || judged.verdict.outcome !== 'require') return [];
    const stage = stageWithoutApprovers(judged.requirement, proposal, approvers);
    return stage === undefined
      ? []
      : [{ path: `calls.${String(index)}`, message: noApproverDetail(stage, judged.verdict) }];
  });
  const [error] = errors;
  return error && { code: 'no-approver-left', detail: `${error.path}: ${error.message}`, errors };
}
