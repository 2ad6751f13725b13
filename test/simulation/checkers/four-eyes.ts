import type { EventData } from '@countersign/contracts';
import { at, eventsOf } from './checker.ts';
import type { CreateChecker } from './checker.ts';

/**
 * No person responds to a call that they requested, and a person counts once for one proposal: with
 * a vote of their own, as a delegate, or through theirs.
 */
export const fourEyes: CreateChecker = (site, fail) => {
  /** By approval: the number of the current proposal, and the people behind each of its votes. */
  const approvals = new Map<string, { proposal: number; votes: (readonly string[])[] }>();
  return {
    onRecorded: (event) => {
      if (event.type !== 'ApprovalResponded' && event.type !== 'ResponseWithdrawn') return;
      const approvalId = String(at(event, 'approvalId'));
      const known = approvals.get(approvalId) ?? { proposal: 1, votes: [] };
      approvals.set(approvalId, known);
      if (event.type === 'ResponseWithdrawn') {
        const endsProposal = at(event, 'ends') === 'proposal';
        known.votes = endsProposal
          ? []
          : known.votes.filter((vote) => !vote.includes(String(at(event, 'withdrawnBy'))));
        known.proposal += endsProposal ? 1 : 0;
        return;
      }
      const response = event.data as EventData<'ApprovalResponded'>;
      const people = peopleBehind(response);
      const who = people.join(' for ');
      const [requested] = eventsOf(site, event.metadata.callId ?? '');
      if (requested !== undefined && people.includes(String(at(requested, 'requestedBy'))))
        fail(`${who} responded to ${approvalId}, which is their own request`);
      const proposal = response.proposal ?? 0;
      // Votes for another proposal are void.
      if (proposal !== known.proposal) known.votes = [];
      if (proposal < known.proposal || proposal > known.proposal + 1)
        fail(
          `${who} responded to the proposal ${String(proposal)} of ${approvalId}, which asks about ${String(known.proposal)}`,
        );
      known.proposal = proposal;
      const ended = response.endedVotes ?? [];
      known.votes = known.votes.filter((vote) => !ended.some((one) => vote[0] === one));
      if (known.votes.some((vote) => people.some((person) => vote.includes(person))))
        fail(`${who} counts twice in ${approvalId}`);
      known.votes.push(people);
    },
  };
};

function peopleBehind({ respondedBy, onBehalfOf }: EventData<'ApprovalResponded'>): readonly string[] {
  return onBehalfOf === null ? [respondedBy] : [respondedBy, onBehalfOf];
}
