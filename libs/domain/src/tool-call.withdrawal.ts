import type { EventData, ToolCallEvent } from '@countersign/contracts';
import { accepted, refused } from './decider.js';
import type { RuleResult } from './decider.js';
import { isBehind, isBehindInLog, isSameIdentity } from './identity.js';
import { toStored } from './time.js';
import { notOpen } from './tool-call.approval-checks.js';
import type { WithdrawResponse } from './tool-call.response-commands.js';
import type { Approval, ToolCallState, Vote } from './tool-call.state.js';
import { isCounted } from './seats.js';
import { isOfProposer, numberOfVote, standingVoteBy } from './voting.js';
import { afterWithdrawal } from './withdrawal.js';

const noneStands = refused('unknown-approval', 'No answer of yours stands that could be withdrawn.');

/**
 * Withdraws one's own votes, under all names, also one that a delegate cast, while the approval is pending.
 *
 * With `of` another ends the votes of that person, who is no longer there.
 *
 * Attack: a withdrawal is repeated after the person has voted again, by a proxy or by a client that lost the response.
 * It takes back no later vote: a withdrawal names the response, or the caller knows that it is no repeat.
 */
export function withdrawResponse(command: WithdrawResponse, state: ToolCallState): RuleResult<ToolCallEvent> {
  const approval =
    state.status === 'unrequested'
      ? undefined
      : state.approvals.find(({ approvalId }) => approvalId === command.approvalId);
  if (approval === undefined) return refused('unknown-approval', 'No such approval is recorded.');
  const closed = notOpen(approval, command.at);
  if (closed !== undefined) return { status: 'refused', refusal: closed };
  const names = command.of === undefined ? [command.withdrawnBy, ...(command.aliases ?? [])] : [command.of];
  return unlessUnclear(approval, names, command) ?? accepted(...withdrawals(approval, names, command));
}

/** Refuses a withdrawal of a response that is not the person's, and one that may be a repeat of an earlier one. */
function unlessUnclear(
  approval: Approval,
  names: readonly string[],
  { response, mayBeRepeat }: WithdrawResponse,
): RuleResult<ToolCallEvent> | undefined {
  const own = approval.votes.filter((vote) => names.some((name) => isBehind(vote, name)));
  if (response !== undefined)
    return own.some((vote) => numberOfVote(approval, vote) === response) ? undefined : noneStands;
  const standing = standingVoteBy(approval, names);
  const hasWithdrawn = own.some(({ status }) => status === 'withdrawn');
  if (standing === undefined) return hasWithdrawn ? undefined : noneStands;
  return mayBeRepeat === true && hasWithdrawn ? isLater(numberOfVote(approval, standing)) : undefined;
}

function isLater(response: number): RuleResult<ToolCallEvent> {
  const detail = `You have answered again since you withdrew an answer. To withdraw this one, name it: response ${String(response)}.`;
  return { status: 'refused', refusal: { code: 'already-voted', detail, extra: { response } } };
}

/**
 * One withdrawal for each vote that a person has under these names, or for the one that is named, and one for what they proposed
 * where their vote counts no more. No limit refuses it: nobody is bound to a vote.
 */
function withdrawals(
  approval: Approval,
  names: readonly string[],
  command: WithdrawResponse,
): readonly ToolCallEvent[] {
  const events: ToolCallEvent[] = [];
  if (command.response !== undefined) {
    const named = approval.votes[command.response - 1];
    // One that another replaced ends no other: the earlier one of another name may be the person's denial.
    const stands =
      named !== undefined && (isCounted(named) || standingVoteBy(approval, [castName(named, names)]) === named);
    return stands ? [{ type: 'ResponseWithdrawn', data: withdrawal(approval, named, names, command) }] : [];
  }
  let left = approval;
  for (;;) {
    const vote = standingVoteBy(left, names);
    if (vote === undefined) return events;
    const data = withdrawal(left, vote, names, command);
    events.push({ type: 'ResponseWithdrawn', data });
    left = afterWithdrawal(left, data);
  }
}

/**
 * The name of this person in a vote. Where it counts it is that of the voter; otherwise a delegate may have another vote, which is
 * not the person's.
 */
function castName({ respondedBy, onBehalfOf, status }: Vote, names: readonly string[]): string {
  const isOwn = names.some((name) => isSameIdentity(name, respondedBy));
  return status === 'counted' || isOwn ? respondedBy : (onBehalfOf ?? respondedBy);
}

/** The withdrawal of a vote. That of the vote that proposed what is asked ends the proposal. */
function withdrawal(
  approval: Approval,
  vote: Vote,
  names: readonly string[],
  command: WithdrawResponse,
): EventData<'ResponseWithdrawn'> {
  const { approvalId, withdrawnBy, of, at } = command;
  return {
    ...{ approvalId, withdrawnBy, withdrawnAt: toStored(at) },
    ...(of === undefined && isBehindInLog(vote, withdrawnBy) ? {} : { castBy: castName(vote, names) }),
    ends: isOfProposer(approval, vote) ? 'proposal' : 'vote',
  };
}
