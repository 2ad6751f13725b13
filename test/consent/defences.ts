import type { CommandPorts } from '@countersign/commands';
import { batchDecider, currentProposal, grantDecider, nextRound, requirementOf } from '@countersign/domain';
import type {
  Approval,
  ExpireApproval,
  RequestApproval,
  RequestToolCall,
  RespondToApproval,
  TakeTurn,
  ToolCall,
  ToolCallCommand,
  ToolCallState,
} from '@countersign/domain';

/** Each is a defence of the product, with the law that it upholds. Without it, the model must notice. */
export const defences = {
  'every-requirement': 1,
  'whole-batches': 1,
  'request-shown': 2,
  'own-seats': 3,
  'no-shortening': 4,
  'approvers-left': 4,
  'true-silence': 5,
  'enough-people': 5,
  'whole-time': 5,
  'shown-digest': 6,
  'counted-instructions': 7,
  'voters-now': 8,
  'credentials-now': 8,
  'one-person': 9,
  'second-person': 9,
  'names-at-desk': 9,
  'own-words': 9,
  'own-withdrawals': 9,
  'groups-of-desk': 8,
  'ended-people': 8,
  copies: 10,
  'fresh-claims': 11,
  'fresh-renewals': 11,
  'fresh-responses': 11,
  'fresh-cancellations': 11,
  'own-keys': 11,
  'hidden-equality': 12,
  'hidden-answers': 12,
  'bounded-history': 13,
  'bounded-rounds': 13,
  'bounded-proposals': 13,
  'bounded-words': 13,
  'own-quotas': 14,
  'own-batches': 14,
  'asks-all': 1,
  'all-asking-rules': 1,
  'whole-steps': 1,
  'step-digests': 6,
  'denied-runs': 1,
  'ended-runs': 1,
  'in-turn': 18,
  'order-of-turns': 18,
  'seen-turns': 18,
  'judged-at-turn': 1,
  'run-grants': 1,
  'own-grants': 14,
  'approved-output': 1,
  'stricter-repeats': 1,
  'one-try': 1,
  'assured-votes': 1,
  'signed-votes': 1,
  'time-before-start': 5,
  'every-tool': 14,
  'own-tool': 15,
  'shown-words': 7,
  'whole-words': 16,
  'absent-values': 16,
  'store-time': 17,
} as const;

export type Defence = keyof typeof defences;

export function isDefence(name: string | undefined): name is Defence {
  return name !== undefined && name in defences;
}

type Alter = NonNullable<CommandPorts['alterRule']>;

/** The rules of the domain without a defence. */
export function alterRule(without: Defence | null): Alter {
  return (rule) => (command, state) => {
    const asked = command.type === 'RequestToolCall' ? changeRequest(without, command) : command;
    if (state.status === 'unrequested') return rule(asked as typeof command, state);
    const [changed, on] = change(without, asked, state);
    // A change keeps the type of the command.
    return rule(changed as typeof command, on);
  };
}

/** The rules of batches and grants without a defence. */
export function alterStreams(without: Defence | null): Pick<CommandPorts, 'decideBatch' | 'decideGrant'> {
  return {
    ...(without === 'whole-batches' && { decideBatch: beginAnyhow }),
    ...(without === 'second-person' && { decideGrant: confirmAnyhow }),
  };
}

/** As if every call of a batch were permitted. */
const beginAnyhow: NonNullable<CommandPorts['decideBatch']> = (command, state) => {
  const members = command.callIds.map((callId) => ({ callId, standing: 'permitted' as const }));
  return batchDecider.decide(command.type === 'BeginBatch' ? { ...command, members } : command, state);
};

/** As if another person had created the grant. */
const confirmAnyhow: NonNullable<CommandPorts['decideGrant']> = (command, state) =>
  grantDecider.decide(
    command,
    command.type !== 'ConfirmGrant' || state.status === 'unknown'
      ? state
      : { ...state, terms: { ...state.terms, createdBy: 'another person' } },
  );

function changeRequest(without: Defence | null, command: RequestToolCall): RequestToolCall {
  switch (without) {
    case 'no-shortening':
      return asIfShortened(command);
    case 'asks-all':
      return asIfAlone(command);
    case 'all-asking-rules':
      return ofFirstRule(command);
    case 'whole-steps':
      return command.call.batchRuleId === undefined ? command : independent(command);
    case 'in-turn':
      return command.call.batchMode === 'sequential' ? independent(command) : command;
    default:
      return command;
  }
}

/** As if no other call of the step mattered. */
function asIfAlone(command: RequestToolCall): RequestToolCall {
  const { verdict } = command.judgement;
  const isAsked = verdict.outcome === 'require' && verdict.why.some((line) => line.startsWith('it waits, because'));
  return isAsked ? { ...command, judgement: { outcome: 'allow', verdict: { ...verdict, outcome: 'allow' } } } : command;
}

/** As if one of several rules that ask about all calls of a step were enough. */
function ofFirstRule(command: RequestToolCall): RequestToolCall {
  const { judgement } = command;
  if (judgement.outcome !== 'require') return command;
  const { requirement } = judgement;
  return {
    ...command,
    judgement: { ...judgement, requirement: { ...requirement, stages: requirement.stages.slice(0, 1) } },
  };
}

function independent({ call: { batchRuleId: _, ...call }, ...command }: RequestToolCall): RequestToolCall {
  return { ...command, call: { ...call, batchMode: 'independent' } };
}

function change(without: Defence | null, command: ToolCallCommand, state: ToolCall): [ToolCallCommand, ToolCallState] {
  switch (without) {
    case 'every-requirement':
      return [command.type === 'RespondToApproval' ? ofRequestAlone(command) : command, state];
    case 'own-seats':
      return [command, command.type === 'RespondToApproval' ? onLast(state, withSharedSeats) : state];
    case 'true-silence':
      return [command, command.type === 'ExpireApproval' ? onLast(state, untouched) : state];
    case 'whole-time':
      return [command.type === 'ExpireApproval' ? withoutDoubt(command) : command, state];
    case 'approvers-left':
      return [command.type === 'RespondToApproval' ? withoutApprovers(command) : command, state];
    case 'enough-people':
      return [command.type === 'ExpireApproval' ? withoutApprovers(command) : command, state];
    case 'voters-now':
      return [command.type === 'RespondToApproval' ? withoutVoters(command) : command, state];
    case 'own-words':
      return [command.type === 'RespondToApproval' ? asIfSignedIn(command) : command, state];
    case 'seen-turns':
      return [command.type === 'TakeTurn' ? atAnyPlace(command, state) : command, state];
    case 'judged-at-turn':
      return [command.type === 'TakeTurn' ? asRecorded(command, state) : command, state];
    case 'assured-votes':
      return [command.type === 'RespondToApproval' ? assured(command) : command, state];
    case 'signed-votes':
      return [command, command.type === 'RespondToApproval' ? onLast(state, unsigned) : state];
    case 'hidden-answers':
      return [command.type === 'RespondToApproval' ? inClear(command) : command, state];
    case 'stricter-repeats':
      return [command.type === 'RequestToolCall' ? asBefore(command) : command, state];
    case 'one-try':
      return [
        command,
        command.type !== 'LapseClaim' ? state : { ...state, request: { ...state.request, idempotent: true } },
      ];
    case 'approved-output':
      return [command, command.type === 'SubmitClientOutput' ? { ...state, permission: { status: 'allowed' } } : state];
    case 'bounded-history':
      return [command, command.type === 'RespondToApproval' ? onLast(state, shortened) : state];
    case 'bounded-rounds':
      return command.type === 'RequestApproval' && command.round > 16
        ? asSecondRound(command, state)
        : [command, state];
    case 'bounded-proposals':
      return [command, command.type === 'RespondToApproval' ? onLast(state, belowLimit) : state];
    case 'bounded-words':
      return [command, command.type === 'RespondToApproval' ? onLast(state, withoutWords) : state];
    case 'whole-words':
      return [command.type === 'RespondToApproval' ? cut(command) : command, state];
    default:
      return [command, state];
  }
}

function assured(command: RespondToApproval): RespondToApproval {
  return { ...command, responder: { ...command.responder, assurance: 'medium' } };
}

/** As if the rule asked for no signature. */
function unsigned(approval: Approval): Approval {
  const proposals = approval.proposals.map((proposal) => {
    const { requireSignature: _, ...first } = requirementOf(approval);
    return { ...proposal, requirements: [first] as const };
  });
  return { ...approval, proposals };
}

/** As if an answer hid nothing, so that an equal one agreed to it. */
function inClear(command: RespondToApproval): RespondToApproval {
  const { decision } = command;
  return decision.type === 'answer' ? { ...command, decision: { ...decision, hidesValues: false } } : command;
}

/** As if a repeat wanted what the first request did. */
function asBefore({ call, ...command }: RequestToolCall): RequestToolCall {
  return { ...command, call: { ...call, needsApproval: false } };
}

/** As if the place that was seen were always the place of now, where nothing forbids what was recorded. */
function atAnyPlace(command: TakeTurn, state: ToolCall): TakeTurn {
  const judgement = state.verdict === null ? null : ({ outcome: 'allow', verdict: state.verdict } as const);
  return { ...command, round: nextRound(state), judgement: command.judgement ?? judgement };
}

/** As if the policy allowed every call at its turn. */
function asRecorded(command: TakeTurn, { verdict }: ToolCall): TakeTurn {
  const isJudged = command.judgement !== null && verdict !== null;
  return isJudged ? { ...command, judgement: { outcome: 'allow', verdict } } : command;
}

function onLast(state: ToolCall, changed: (approval: Approval) => Approval): ToolCall {
  return {
    ...state,
    approvals: state.approvals.map((one, at) => (at === state.approvals.length - 1 ? changed(one) : one)),
  };
}

/** As if the rule that judges the edited arguments asked no person. */
function ofRequestAlone(command: RespondToApproval): RespondToApproval {
  const { decision } = command;
  if (decision.type !== 'edit') return command;
  const judgement = { outcome: 'allow', verdict: decision.judgement.verdict } as const;
  return { ...command, decision: { ...decision, judgement } };
}

/** As if an escalation opened seats in every requirement, and in later proposals. */
function withSharedSeats(approval: Approval): Approval {
  const { number, requirements } = currentProposal(approval);
  const escalations = approval.escalations.flatMap((one) =>
    requirements.map((_, requirement) => ({ ...one, proposal: number, requirement, stage: 0 })),
  );
  return { ...approval, escalations };
}

function untouched(approval: Approval): Approval {
  return {
    ...approval,
    round: 1,
    proposals: approval.proposals.slice(0, 1),
    votes: approval.votes.filter(({ decision }) => decision.type === 'approve'),
  };
}

/** As if the responses that no longer count were not part of the history. */
function shortened(approval: Approval): Approval {
  return { ...approval, votes: approval.votes.filter(({ status }) => status === 'counted') };
}

/** As if people were asked the second time. */
function asSecondRound(command: RequestApproval, state: ToolCall): [RequestApproval, ToolCall] {
  return [{ ...command, round: 2 }, onLast(state, (approval) => ({ ...approval, round: 1 }))];
}

/** As if the proposal at the limit were an earlier one. */
function belowLimit(approval: Approval): Approval {
  const proposals = approval.proposals.map((one) => ({ ...one, number: Math.min(one.number, 63) }));
  return { ...approval, proposals };
}

/** As if the words of the responses before had no length. */
function withoutWords(approval: Approval): Approval {
  return { ...approval, votes: approval.votes.map((vote) => ({ ...vote, instruction: null })) };
}

/** As if a long text lost its end. */
function cut(command: RespondToApproval): RespondToApproval {
  return { ...command, instruction: command.instruction?.slice(0, 8) ?? null };
}

function withoutVoters({ voters: _, ...command }: RespondToApproval): RespondToApproval {
  return command;
}

/** As if people of a front end had proved themselves. */
function asIfSignedIn({ responder: { vouchedBy: _, ...responder }, ...command }: RespondToApproval): RespondToApproval {
  return { ...command, responder };
}

/** As if the service had run all the time. */
function withoutDoubt({ isTimeUnsure: _, ...command }: ExpireApproval): ExpireApproval {
  return command;
}

/** As if it were not known who the approvers are. */
function withoutApprovers<Known extends { readonly approvers?: unknown }>({ approvers: _, ...command }: Known) {
  return command;
}

/** As if an agent's one second counted where the end is no denial. */
function asIfShortened(command: RequestToolCall): RequestToolCall {
  if (command.judgement.outcome !== 'require') return command;
  const { requirement } = command.judgement;
  return requirement.onTimeout === 'deny'
    ? command
    : { ...command, judgement: { ...command.judgement, requirement: { ...requirement, expiresInMs: 1_000 } } };
}
