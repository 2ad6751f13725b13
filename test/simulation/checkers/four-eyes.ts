import type { EventData, JsonObject, RecordedEvent } from '@countersign/contracts';
import { at, eventsOf } from './checker.ts';
import type { CreateChecker } from './checker.ts';

/**
 * No person responds to a call that they requested, and a person counts once for one proposal: with
 * a vote of their own, as a delegate, or through theirs.
 */
export const fourEyes: CreateChecker = (site, fail) => {
  /** By approval: the current proposal, and the people behind each current vote. */
  const approvals = new Map<string, { proposal: string; votes: (readonly string[])[] }>();
  return {
    onRecorded: (event) => {
      if (event.type !== 'ApprovalResponded' && event.type !== 'ResponseWithdrawn') return;
      const approvalId = String(at(event, 'approvalId'));
      const known = approvals.get(approvalId) ?? { proposal: '', votes: [] };
      approvals.set(approvalId, known);
      if (event.type === 'ResponseWithdrawn') {
        known.votes = known.votes.filter((vote) => !vote.includes(String(at(event, 'withdrawnBy'))));
        return;
      }
      const people = peopleBehind(event.data as EventData<'ApprovalResponded'>);
      const who = people.join(' for ');
      const [requested] = eventsOf(site, event.metadata.callId ?? '');
      if (requested !== undefined && people.includes(String(at(requested, 'requestedBy'))))
        fail(`${who} responded to ${approvalId}, which is their own request`);
      const proposal = proposalOf(event, known.proposal);
      // Votes for another proposal are void.
      if (proposal !== known.proposal) known.votes = [];
      known.proposal = proposal;
      if (known.votes.some((vote) => people.some((person) => vote.includes(person))))
        fail(`${who} counts twice in ${approvalId}`);
      known.votes.push(people);
    },
  };
};

function peopleBehind({ respondedBy, onBehalfOf }: EventData<'ApprovalResponded'>): readonly string[] {
  return onBehalfOf === null ? [respondedBy] : [respondedBy, onBehalfOf];
}

/** The subject of a vote: an edit and an answer propose another one. */
function proposalOf(event: RecordedEvent, before: string): string {
  const decision = at(event, 'decision') as JsonObject;
  if (decision['type'] === 'answer') return JSON.stringify(decision['output']);
  return decision['type'] === 'deny' && before !== '' ? before : String(at(event, 'actionDigest'));
}
