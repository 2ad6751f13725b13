import type { EventData, JsonObject, RecordedEvent, Requirement, Verdict } from '@countersign/contracts';
import { columnsOf } from '@countersign/domain';
import { recordedCall } from '@countersign/policy';
import { policyOfVersion } from '../world/policies.ts';
import { at, eventsOf } from './checker.ts';
import type { CreateChecker } from './checker.ts';

/** The facts about one approval: how many must agree, the proposed arguments, and the people who agreed to them. */
interface Asked {
  /** The requirement that the request was recorded with. */
  readonly ofRequest: Requirement;
  /** For what is proposed now. */
  needed: number;
  readonly requested: string;
  proposal: string;
  /** By the person whose voice it was. */
  readonly agreed: Map<string, Agreement>;
}

interface Agreement {
  readonly proposal: string;
  readonly respondedBy: string;
}

/** A person approves only if as many different people agreed to the same proposal as its requirement asks for. */
export const enoughPeople: CreateChecker = (site, fail) => {
  const approvals = new Map<string, Asked>();
  return {
    onRecorded: (event) => {
      const approvalId = String(at(event, 'approvalId'));
      if (event.type === 'ApprovalRequested') {
        const ofRequest = at(event, 'requirement') as Requirement;
        const requested = String(at(event, 'actionDigest'));
        const asked = { ofRequest, needed: peopleOf([ofRequest]), requested, proposal: requested, agreed: new Map() };
        approvals.set(approvalId, asked);
        return;
      }
      const asked = approvals.get(approvalId);
      if (asked === undefined) return;
      if (event.type === 'ResponseWithdrawn') removeVoteOf(asked, event);
      if (event.type !== 'ApprovalResponded' || at(event, 'automatic') === true) return;
      note(asked, event, eventsOf(site, event.metadata.callId ?? '')[0]);
      if (at(event, 'resolution') !== 'approved') return;
      const agreed = [...asked.agreed.values()].filter(({ proposal }) => proposal === asked.proposal).length;
      if (agreed >= asked.needed) return;
      fail(`${approvalId} was approved by ${String(agreed)} of ${String(asked.needed)} people`);
    },
  };
};

function note(asked: Asked, event: RecordedEvent, requested: RecordedEvent | undefined): void {
  const { respondedBy, onBehalfOf } = event.data as EventData<'ApprovalResponded'>;
  // A delegate's vote is that of the person who is away, and of no other.
  const who = onBehalfOf ?? respondedBy;
  const decision = at(event, 'decision') as JsonObject & {
    readonly requirement?: Requirement | null;
    readonly verdict: Verdict;
  };
  switch (decision['type']) {
    case 'deny':
      asked.agreed.delete(who);
      return;
    case 'answer':
      propose(asked, JSON.stringify(decision['output']), peopleOf([asked.ofRequest]));
      break;
    case 'edit': {
      const added = decision.requirement ?? null;
      const recorded = peopleOf(added === null ? [asked.ofRequest] : [asked.ofRequest, added]);
      const needed = Math.max(recorded, demanded(decision['arguments'] as JsonObject, decision.verdict, requested));
      propose(asked, String(at(event, 'actionDigest')), needed);
      break;
    }
    default:
    // An approval agrees to what is proposed now, which may be an answer.
  }
  asked.agreed.set(who, { proposal: asked.proposal, respondedBy });
}

/** Another proposal ends the agreements to the one before. The same arguments or answer are no other proposal. */
function propose(asked: Asked, proposal: string, needed: number): void {
  if (asked.proposal !== proposal) asked.agreed.clear();
  asked.proposal = proposal;
  asked.needed = needed;
}

/** A vote is withdrawn by the person who cast it, or by the one in whose place it was cast. */
function removeVoteOf(asked: Asked, event: RecordedEvent): void {
  const person = String(at(event, 'castBy') ?? at(event, 'withdrawnBy'));
  const { agreed } = asked;
  for (const [voice, { respondedBy }] of agreed) if (voice === person || respondedBy === person) agreed.delete(voice);
  // The vote had proposed what is asked: the request is asked about again, and nobody has agreed to it yet.
  if (at(event, 'ends') !== 'proposal') return;
  agreed.clear();
  asked.proposal = asked.requested;
  asked.needed = peopleOf([asked.ofRequest]);
}

/** How many people these requirements ask for together. */
function peopleOf(requirements: readonly Requirement[]): number {
  return columnsOf(requirements).reduce((sum, { stage }) => sum + stage.approve, 0);
}

/** How many people the policy that judged the edit asks for by itself when the arguments are these. */
function demanded(args: JsonObject, { policyVersion }: Verdict, requested: RecordedEvent | undefined): number {
  if (requested?.type !== 'ToolCallRequested') return 0;
  const request = requested.data as EventData<'ToolCallRequested'>;
  const call = recordedCall({ ...request, arguments: args, needsApproval: false });
  const [judgement] = policyOfVersion(policyVersion)?.judge([call], 0) ?? [];
  return judgement?.verdict.outcome === 'require' ? peopleOf([judgement.requirement]) : 0;
}
