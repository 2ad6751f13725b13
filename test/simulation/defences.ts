import type { NewEvent, RecordedEvent, Requirement } from '@countersign/contracts';
import { batchDecider, grantDecider } from '@countersign/domain';
import type { RespondToApproval, Rule, ToolCall, ToolCallCommand, ToolCallState } from '@countersign/domain';
import type { Execution } from '@countersign/domain';
import type { EventStore } from '@countersign/event-store';
import type { MessagePublisher } from '@countersign/message-bus';
import type { Executions } from '@countersign/resolver';
import { actionDigest } from '@countersign/contracts';
import type { SimulatedLog } from '@countersign/event-store/testing';

/** The product's defences, each of which can be removed: the simulation must notice every removal. */
export const defences = {
  'command-dedupe': 'deterministic event ids, and commands recognised by their id in the stream',
  'expected-revision': 'appends at the revision that was decided on',
  'first-resolution': 'an approval that has ended takes no further answer',
  'approval-check': 'the claim asks whether the call was approved or allowed',
  'digest-check': 'claim and resolver recompute the action digest over what is about to run',
  'batch-check': 'the claim of a member asks for the siblings of an all-or-nothing batch',
  'batch-word': 'the first word about an all-or-nothing batch stands: begun or broken, never both',
  'attempt-check': 'only the latest attempt may report or renew',
  'lease-check': 'a resolver looks at its lease before it runs the tool',
  'unknown-is-final': 'only a tool that declared itself idempotent is claimable again by itself',
  quorum: 'as many people must agree as the rule asks for',
  'kept-requirement': 'a new policy changes nothing for a call that was asked before',
  'policy-record': 'a policy is recorded before it judges',
  'deny-ends-run': 'a denial whose rule says so cancels the open calls of the run',
  'edit-requirement': 'an edit into another rule needs the people of both',
  'four-eyes': 'the requester cannot answer',
  ownership: 'only its requester or an admin may cancel a call or ask about it',
  'grant-use': 'a use is taken only of a grant that is neither revoked nor expired nor used up',
  'publish-ack': 'the relay keeps its progress only once what it published is acknowledged',
  'projector-checkpoint': 'the read model keeps its checkpoint together with the rows',
} as const;

export type Defence = keyof typeof defences;

export function isDefence(name: string): name is Defence {
  return name in defences;
}

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
  if (without !== 'grant-use') return decide;
  return (command, state) => {
    if (command.type !== 'UseGrant' || state.status === 'unknown') return decide(command, state);
    const terms = { ...state.terms, maxUses: null, expiresAt: '9999-12-31T23:59:59.999Z' };
    return decide(command, { ...state, status: 'active', terms });
  };
}

function attemptOf(execution: Execution): number | null {
  return execution.status === 'none' ? null : execution.attempt;
}

function forOnePerson(state: ToolCall): ToolCall {
  return withStages(state, (stages) => stages.slice(0, 1).map((stage) => ({ ...stage, approve: 1 })));
}

function withStages(state: ToolCall, change: (stages: Requirement['stages']) => Requirement['stages']): ToolCall {
  const approvals = state.approvals.map((approval) => {
    const stages = change(approval.requirement.stages);
    return { ...approval, requirement: { ...approval.requirement, stages } };
  });
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

/** The store without expected revisions: every append goes to the end. */
export function withoutRevision(store: EventStore, log: SimulatedLog): EventStore {
  return {
    ...store,
    append: async (stream, _, events) => {
      const recorded = log.streams.get(stream) ?? [];
      const ids = new Set(events.map(({ eventId }) => eventId));
      const found = recorded.filter(({ eventId }) => ids.has(eventId));
      const last = found.at(-1);
      if (last !== undefined) {
        return { status: 'committed', revision: last.revision, position: last.position, events: found };
      }
      return store.append(stream, recorded.length - 1, events);
    },
  };
}

/** The store that treats every event as new, and whose readers recognise no command. */
export function withoutDedupe(store: EventStore, uuid: () => string): EventStore {
  const hide = (events: readonly RecordedEvent[]): readonly RecordedEvent[] =>
    events.map((event) => ({ ...event, metadata: { ...event.metadata, commandId: event.eventId } }));
  return {
    ...store,
    readStream: async (...given) => hide(await store.readStream(...given)),
    append: async (stream, revision, events) => {
      const renamed = events.map((event): NewEvent => ({ ...event, eventId: uuid() }));
      const result = await store.append(stream, revision, renamed);
      return result.status === 'committed' ? { ...result, events: hide(result.events) } : result;
    },
  };
}

/** The ledger as a resolver sees it that checks nothing. */
export function decoratedExecutions(executions: Executions, without: Defence | null): Executions {
  switch (without) {
    case 'digest-check':
      return {
        ...executions,
        claim: async (...given) => {
          const answer = await executions.claim(...given);
          if (answer.status !== 'claimed') return answer;
          const { claim } = answer;
          return { ...answer, claim: { ...claim, actionDigest: actionDigest(claim.digestInput, claim.arguments) } };
        },
      };
    case 'approval-check':
      return {
        ...executions,
        find: async (...given) => {
          const found = await executions.find(...given);
          return found === undefined ? undefined : { ...found, claimable: true };
        },
      };
    default:
      return executions;
  }
}

/** A publisher that waits for no acknowledgement. */
export function withoutAck(publisher: MessagePublisher): MessagePublisher {
  return {
    publish: async (topic, messages) => {
      publisher.publish(topic, messages).catch(() => undefined);
    },
  };
}
