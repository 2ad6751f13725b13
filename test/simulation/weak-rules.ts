import type { Requirement } from '@countersign/contracts';
import { batchDecider, grantDecider } from '@countersign/domain';
import type {
  Execution,
  Grant,
  GrantCommand,
  Proposal,
  RespondToApproval,
  Rule,
  ToolCall,
  ToolCallCommand,
  ToolCallState,
} from '@countersign/domain';
import type { Defence } from './defences.ts';

/** A rule of a tool call without a defence. */
export function ruleWithout<Command extends ToolCallCommand>(
  without: Defence | null,
  rule: Rule<Command>,
  stagesNow: (call: ToolCall) => Requirement['stages'],
): Rule<Command> {
  const change = (command: ToolCallCommand, state: ToolCall): [ToolCallCommand, ToolCallState] => {
    const { permission, execution, action, request } = state;
    switch (without) {
      case 'attempt-check':
        return command.type === 'ReportExecution' || command.type === 'RenewClaim'
          ? [{ ...command, attempt: attemptOf(execution) ?? command.attempt }, state]
          : [command, state];
      case 'digest-check': {
        if (command.type !== 'ClaimExecution') return [command, state];
        const expected = permission.status === 'approved' ? permission.actionDigest : action.actionDigest;
        return [{ ...command, actionDigest: expected }, state];
      }
      case 'approval-check': {
        const isOpen = command.type === 'ClaimExecution' && permission.status === 'awaiting_approval';
        return [command, isOpen ? { ...state, permission: { status: 'allowed' } } : state];
      }
      case 'unknown-is-final':
        return [
          command,
          command.type === 'LapseClaim' ? { ...state, request: { ...request, idempotent: true } } : state,
        ];
      case 'first-resolution':
        return [command, command.type === 'RespondToApproval' ? reopened(state) : state];
      case 'quorum':
        return [command, command.type === 'RespondToApproval' ? forOnePerson(state) : state];
      case 'one-voice':
        return [command, command.type === 'RespondToApproval' ? withOwnVoices(state) : state];
      case 'kept-requirement':
        return [command, command.type === 'RespondToApproval' ? withStages(state, () => stagesNow(state)) : state];
      case 'edit-requirement':
        return [command.type === 'RespondToApproval' ? withoutVerdict(command) : command, state];
      case 'ownership':
        return ['reach' in command ? { ...command, reach: 'any' } : command, state];
      default:
        return [command, state];
    }
  };
  return (command, state) => {
    if (state.status === 'unrequested') return rule(command, state);
    const [changed, on] = change(command, state);
    // A change keeps the type of the command.
    return rule(changed as Command, on);
  };
}

/** The rule of batches without a defence. */
export function batchRuleWithout(without: Defence | null): typeof batchDecider.decide {
  const { decide } = batchDecider;
  switch (without) {
    case 'batch-check':
      return (command, state) => {
        const members = command.callIds.map((callId) => ({ callId, standing: 'permitted' as const }));
        return decide(command.type === 'BeginBatch' ? { ...command, members } : command, state);
      };
    // Both events are accepted, each by its own process.
    case 'batch-word':
      return (command, state) => {
        const decision = decide(command, state);
        const stands = state.status === 'open' || decision.status === 'accepted';
        return stands ? decision : { status: 'accepted', events: [] };
      };
    default:
      return decide;
  }
}

/** The rule of grants without a defence. */
export function grantRuleWithout(without: Defence | null): typeof grantDecider.decide {
  const { decide } = grantDecider;
  return (command, state) =>
    state.status === 'unknown' ? decide(command, state) : decide(command, weak(command, state));

  function weak({ type }: GrantCommand, state: Grant): Grant {
    const { terms } = state;
    switch (`${String(without)} ${type}`) {
      case 'grant-use UseGrant':
        return {
          ...state,
          status: 'active',
          terms: { ...terms, maxUses: null, expiresAt: '9999-12-31T23:59:59.999Z' },
        };
      case 'grant-confirmation UseGrant':
        return confirmedByItself(state);
      case 'second-person ConfirmGrant':
        return { ...state, terms: { ...terms, createdBy: 'another' } };
      default:
        return state;
    }
  }
}

function attemptOf(execution: Execution): number | null {
  return execution.status === 'none' ? null : execution.attempt;
}

function forOnePerson(state: ToolCall): ToolCall {
  return withStages(state, (stages) => stages.slice(0, 1).map((stage) => ({ ...stage, approve: 1 })));
}

/** Each vote as if its responder had spoken for themselves alone. */
function withOwnVoices(state: ToolCall): ToolCall {
  const approvals = state.approvals.map((approval) => {
    const votes = approval.votes.map((vote) => ({ ...vote, onBehalfOf: null }));
    return { ...approval, votes };
  });
  return { ...state, approvals };
}

function withStages(state: ToolCall, change: (stages: Requirement['stages']) => Requirement['stages']): ToolCall {
  return withProposals(state, (proposal) => ({
    ...proposal,
    requirements: proposal.requirements.map((one) => ({ ...one, stages: change(one.stages) })),
  }));
}

function withProposals(state: ToolCall, change: (proposal: Proposal) => Proposal): ToolCall {
  const approvals = state.approvals.map((approval) => ({ ...approval, proposals: approval.proposals.map(change) }));
  return { ...state, approvals };
}

/** The edit as if its arguments were allowed. */
function withoutVerdict(command: RespondToApproval): RespondToApproval {
  const { decision } = command;
  if (decision.type !== 'edit') return command;
  const { verdict } = decision.judgement;
  return { ...command, decision: { ...decision, judgement: { outcome: 'allow', verdict } } };
}

function reopened(state: ToolCall): ToolCall {
  const approvals = state.approvals.map((approval) => ({ ...approval, resolution: { status: 'pending' } as const }));
  return { ...state, approvals };
}

/** A pending grant as if a second person had confirmed it. */
export function confirmedByItself(grant: Grant): Grant {
  return grant.status === 'pending' ? { ...grant, status: 'active' } : grant;
}
