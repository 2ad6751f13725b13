import { personOfFrontEnd } from '@countersign/contracts';
import type { EventData, EventType } from '@countersign/contracts';
import type { JudgedEvent } from '../legality/judged-event.js';
import { peopleOfVote } from '../legality/names.js';
import type { StreamState } from '../legality/streams.js';

/** What a person or a program did, with what the event claims about them. */
export interface Act {
  readonly by: string;
  /** When; null: the event may be recorded long after it, so any time counts. */
  readonly at: string | null;
  /** The roles that the act needs one of; null: the log of record does not need one. */
  readonly needs: readonly string[] | null;
  /** An agent may do it too, through a channel without credentials. */
  readonly isOfAgents: boolean;
  /** An agent or a worker did it, and its event names no credential. */
  readonly isOfProgram: boolean;
  /** Absent: the event does not say. */
  readonly credential?: string;
  readonly roles?: readonly string[];
  readonly groups?: readonly string[];
  readonly onBehalfOf?: string | null;
  readonly assurance?: string;
  readonly via?: string;
  readonly vouchedBy?: string;
  /** Of a withdrawal: whose vote it is, where it is another's. */
  readonly castBy?: string;
  /** Of a vote that is counted once more when another one decides: when it was given. */
  readonly votedAt?: string;
  /** Of such a withdrawal: the people of that vote, also whom a delegate represents. */
  readonly endedPeople: readonly string[];
  readonly signature?: { readonly credentialId: string };
  /** Of a request: for which agent, and who is responsible for it. */
  readonly agentId?: string;
  readonly owner?: string;
}

interface Rule {
  /** The members with the person and with the time. */
  readonly by: string;
  readonly at: string | null;
  readonly needs: readonly string[] | null;
}

const approver = ['approver'];
const admin = ['admin'];
/** A front end and an admin end the votes of a person of a front end. */
const withdrawers = ['approver', 'front-end', 'admin'];
const canceller = { by: 'cancelledBy', at: null, needs: ['agent', 'admin'] };

const stopper = ['admin', 'stopper'];

const revoker = { by: 'revokedBy', at: 'revokedAt', needs: ['approver', 'admin'] };

/** Acts of people, written from docs/people.md. */
const rules: Partial<Readonly<Record<EventType, Rule>>> = {
  ApprovalResponded: { by: 'respondedBy', at: 'respondedAt', needs: approver },
  ResponseWithdrawn: { by: 'withdrawnBy', at: 'withdrawnAt', needs: withdrawers },
  ValuesRevealed: { by: 'revealedBy', at: 'revealedAt', needs: approver },
  ToolCallCancelled: canceller,
  RunCancelled: canceller,
  ExecutionReconciled: { by: 'reconciledBy', at: 'reconciledAt', needs: admin },
  GrantProposed: { by: 'createdBy', at: 'createdAt', needs: approver },
  GrantCreated: { by: 'createdBy', at: 'createdAt', needs: approver },
  GrantConfirmed: { by: 'confirmedBy', at: 'confirmedAt', needs: approver },
  GrantRevoked: revoker,
  SubjectErased: { by: 'erasedBy', at: 'erasedAt', needs: admin },
  PasskeyRegistered: { by: 'principal', at: 'registeredAt', needs: approver },
  PasskeyConfirmed: { by: 'confirmedBy', at: 'confirmedAt', needs: approver },
  PasskeyRemoved: { by: 'removedBy', at: 'removedAt', needs: approver },
  LogEndAccepted: { by: 'by', at: 'acceptedAt', needs: admin },
  LogRestored: { by: 'principal', at: 'restoredAt', needs: admin },
  SignedIn: { by: 'principal', at: null, needs: null },
  AuditRead: { by: 'principal', at: null, needs: null },
  StopDeclared: { by: 'declaredBy', at: 'declaredAt', needs: stopper },
  StopLifted: { by: 'liftedBy', at: 'liftedAt', needs: admin },
};

const asker = ['agent', 'admin'];

/** Acts of agents and workers. A report of a worker is one of the worker that claimed, which is judged with the call. */
const programRules: Partial<Readonly<Record<EventType, Rule>>> = {
  ToolCallRequested: { by: 'requestedBy', at: 'requestedAt', needs: ['agent'] },
  ApprovalRequested: { by: 'requestedBy', at: 'requestedAt', needs: asker },
  ApprovalDescribed: { by: 'describedBy', at: 'describedAt', needs: asker },
  ExecutionClaimed: { by: 'claimedBy', at: 'claimedAt', needs: ['resolver'] },
  ExecutionSucceeded: { by: 'reportedBy', at: 'reportedAt', needs: asker },
  ExecutionFailed: { by: 'reportedBy', at: 'reportedAt', needs: asker },
};

/**
 * What the event says that people or a program did. Empty: the service or the operator did it, or nothing is recorded of who did
 * it. `state` is that of the stream before the event.
 */
export function actsOf(event: JudgedEvent, state: StreamState | undefined): readonly Act[] {
  if (event.type === 'GrantUsed') return usesOf(event, state);
  const { type, data, recordedAt } = event;
  const rule = rules[type] ?? programRules[type];
  if (rule === undefined) return [];
  const members = data as Readonly<Record<string, unknown>>;
  const by = members[rule.by];
  if (typeof by !== 'string' || isOfService(by, rule, members) || isMoreOf(by, rule, state)) return [];
  const at = rule.at === null ? null : timeOf(members[rule.at] as string, recordedAt);
  const isOfAgents = rule.needs?.includes('agent') === true;
  // What an admin may do too names a credential; an older version named none.
  const isOfProgram = rules[type] === undefined && members['credential'] === undefined;
  const endedPeople = peopleEnded(members, state);
  const own = { ...(data as Partial<Act>), by, at, needs: rule.needs, isOfAgents, isOfProgram, endedPeople };
  return [own, ...votesOf(event, state)];
}

/** Attack: the vote of a person who has lost the right since decides with the last one. Law 8: votes are counted then. */
function votesOf({ type, data, recordedAt }: JudgedEvent, state: StreamState | undefined): readonly Act[] {
  const { resolution, respondedAt, endedVotes = [] } = data as Partial<EventData<'ApprovalResponded'>>;
  if (type !== 'ApprovalResponded' || resolution !== 'approved' || state?.kind !== 'call') return [];
  const at = timeOf(respondedAt ?? recordedAt, recordedAt);
  const counted = (state.approval?.votes ?? []).filter(({ by, agrees }) => agrees && !endedVotes.includes(by));
  return counted.map((vote) => {
    const { frontEnd } = personOfFrontEnd(vote.by) ?? {};
    const [by, needs] = frontEnd === undefined ? [vote.by, approver] : [frontEnd, ['front-end']];
    return { by, at, votedAt: vote.at, needs, isOfAgents: false, isOfProgram: true, endedPeople: [] };
  });
}

function peopleEnded({ castBy }: Readonly<Record<string, unknown>>, state: StreamState | undefined): readonly string[] {
  return typeof castBy === 'string' && state?.kind === 'call' ? peopleOfVote(state.approval, castBy) : [];
}

/** Attack: a vote is given in the name of the service. That ends calls and grants, and decides nothing but by silence. */
function isOfService(by: string, rule: Rule, { automatic, executedBy }: Readonly<Record<string, unknown>>): boolean {
  return (
    automatic === true ||
    executedBy === 'resolver' ||
    ((rule === canceller || rule === revoker) && by === 'countersign')
  );
}

/** One more word of the requester of a call, whose request is judged already. */
function isMoreOf(by: string, { needs }: Rule, state: StreamState | undefined): boolean {
  return needs === asker && state?.kind === 'call' && state.request.requestedBy === by;
}

/** Attack: a grant of a person who has lost the right since permits calls. Its creator and the second person must have it still. */
function usesOf({ data, recordedAt }: JudgedEvent, state: StreamState | undefined): readonly Act[] {
  if (state?.kind !== 'grant') return [];
  const at = timeOf((data as { readonly usedAt: string }).usedAt, recordedAt);
  const people = [state.createdBy, ...(state.confirmedBy === null ? [] : [state.confirmedBy])];
  return people.map((by) => ({ by, at, needs: approver, isOfAgents: false, isOfProgram: true, endedPeople: [] }));
}

/** Attack: an event says that it will happen, when a delegation has begun or a change is forgotten. Its record is no later. */
export function timeOf(at: string, recordedAt: string): string {
  return at < recordedAt ? at : recordedAt;
}
