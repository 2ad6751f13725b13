import type { Requirement } from '@countersign/contracts';
import { currentProposal, requirementOf } from './proposal.js';
import { requestersOf } from './requesters.js';
import { seatsOf } from './requirement.js';
import { firstShort, without } from './seating.js';
import type { Seat } from './seating.js';
import { columnsNow, emptySeatsOf, isCounted, openMembers } from './seats.js';
import type { PossibleApprover } from './tool-call.response-commands.js';
import type { Approval, ToolCall } from './tool-call.state.js';

/** A seat that the approvers who are left cannot take, and its stage in the progress of the approval. */
export type Shortage = Seat;

/**
 * Returns the first stage that people cannot satisfy any more: too few approvers are left who have not responded and are
 * no requesters. It may be so from the beginning, or since people were removed. Undefined: every stage can be satisfied.
 * @param approval with the votes alone that count now.
 */
export function shortageOf(
  call: Pick<ToolCall, 'request'>,
  approval: Approval,
  approvers: readonly PossibleApprover[],
): Shortage | undefined {
  const { number } = currentProposal(approval);
  const voters = approval.votes
    .filter((vote) => isCounted(vote) && vote.proposal === number)
    .flatMap(({ respondedBy, onBehalfOf }) => [respondedBy, onBehalfOf ?? undefined]);
  const requesters = requirementOf(approval).fourEyes ? requestersOf(call, approval) : [];
  const left = without(approvers, [...voters, ...requesters]);
  const seats = columnsNow(approval).flatMap((column) => {
    const [most = []] = openMembers(approval, column)
      .map((member) => emptySeatsOf(approval, column, member))
      .toSorted((one, other) => other.length - one.length);
    return most.map((groups) => ({ stage: column.index, groups }));
  });
  return firstShort(seats, left);
}

/** Returns the first stage of a requirement that these people cannot satisfy, even after every escalation. */
export function firstStageShortOf(
  { stages, escalation }: Pick<Requirement, 'stages' | 'escalation'>,
  approvers: readonly PossibleApprover[],
): Shortage | undefined {
  const added = escalation.flatMap(({ to }) => to);
  const seats = stages.flatMap((stage, index) =>
    seatsOf(stage).map((groups) => ({ stage: index, groups: groups === null ? null : [...groups, ...added] })),
  );
  return firstShort(seats, without(approvers, []));
}

/** Says which people a pending approval lacks. */
export function shortageDetail({ stage, groups }: Shortage): string {
  const people = groups === null ? 'approvers' : `people of ${groups.map((group) => `"${group}"`).join(', ')}`;
  return `Too few ${people} are left for stage ${String(stage + 1)}, without the requesters and those who have responded.`;
}
