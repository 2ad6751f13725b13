import type { FieldError, Refusal } from '@countersign/contracts';
import { stageWithoutApprovers } from './approvers-left.js';
import type { StepCall, StepFacts } from './step.facts.js';

/** Refuses new calls whose `onBehalfOf` or `parentCallId` excludes all approvers of a stage. */
export function noApproverLeft(
  calls: readonly Pick<StepCall, 'proposal' | 'state' | 'judged'>[],
  approvers: StepFacts['approvers'],
): Refusal | undefined {
  if (approvers === null) return undefined;
  const errors = calls.flatMap(({ proposal, state, judged }, index): FieldError[] => {
    if (state.status !== 'unrequested' || judged.verdict.outcome !== 'require') return [];
    const stage = stageWithoutApprovers(judged.requirement, proposal, approvers);
    if (stage === undefined) return [];
    const message = `onBehalfOf and parentCallId leave too few approvers for stage ${String(stage + 1)} of "${judged.verdict.ruleId}"`;
    return [{ path: `calls.${String(index)}`, message }];
  });
  const [error] = errors;
  return error && { code: 'no-approver-left', detail: `${error.path}: ${error.message}`, errors };
}
