import type { JsonObject, RecordedEvent } from '@countersign/contracts';
import { at, eventsOf } from './checker.ts';
import type { CreateChecker } from './checker.ts';

/** No person responds to a call that they requested, and a person counts once for one proposal. */
export const fourEyes: CreateChecker = (site, fail) => {
  /** By approval: the current proposal, and the people with a current vote. */
  const votes = new Map<string, { proposal: string; readonly voters: Set<string> }>();
  return {
    onRecorded: (event) => {
      if (event.type !== 'ApprovalResponded' && event.type !== 'ResponseWithdrawn') return;
      const approvalId = String(at(event, 'approvalId'));
      const known = votes.get(approvalId) ?? { proposal: '', voters: new Set() };
      votes.set(approvalId, known);
      if (event.type === 'ResponseWithdrawn') {
        known.voters.delete(String(at(event, 'withdrawnBy')));
        return;
      }
      const who = String(at(event, 'respondedBy'));
      const [requested] = eventsOf(site, event.metadata.callId ?? '');
      if (requested !== undefined && at(requested, 'requestedBy') === who)
        fail(`${who} answered ${approvalId} for itself`);
      const proposal = proposalOf(event, known.proposal);
      // Votes for another proposal are void.
      if (proposal !== known.proposal) known.voters.clear();
      known.proposal = proposal;
      if (known.voters.has(who)) fail(`${who} counts twice in ${approvalId}`);
      known.voters.add(who);
    },
  };
};

/** The subject of a vote: an edit and an answer propose another one. */
function proposalOf(event: RecordedEvent, before: string): string {
  const decision = at(event, 'decision') as JsonObject;
  if (decision['type'] === 'answer') return JSON.stringify(decision['output']);
  return decision['type'] === 'deny' && before !== '' ? before : String(at(event, 'actionDigest'));
}
