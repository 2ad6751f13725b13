import type { EventData, NewEvent, RequestToolCalls, Verdict } from '@countersign/contracts';
import { areEqualJson, queuedIn } from '@countersign/domain';
import type { Approval, ToolCall } from '@countersign/domain';
import type { Quotas } from '@countersign/policy';
import type { Site } from '../world/cluster.ts';
import { policyOfVersion } from '../world/policies.ts';
import { isQuestion } from '../world/questions.ts';
import type { Counted, Question } from '../world/questions.ts';
import { at, eventsOf, requestOf } from './checker.ts';
import type { CreateChecker, Fail } from './checker.ts';
import { stateOf } from './every-request-ends.ts';

/** An approval with its call. */
interface Asked {
  readonly call: ToolCall;
  readonly approval: Approval;
  readonly position: number;
}

/**
 * No process asks people more than the quotas allow by the log as far as the process knew it: that is counted here again,
 * from the events alone. A refusal that names a waiting call names an identical one.
 */
export const quotas: CreateChecker = (site, fail) => ({
  onQuestion: (question) => {
    if (isCountedBefore(site, question)) return;
    const asked = question.events.find(isQuestion)?.data as { readonly verdict: Verdict };
    const limits = policyOfVersion(asked.verdict.policyVersion)?.quotas ?? null;
    if (limits !== null) checkQuestion(site, question, limits, fail);
  },
  onAcknowledged: ({ request, reply: { code, body } }) => {
    const { callId } = body as { readonly callId?: string };
    if (request.kind !== 'request' || code !== 'already-pending' || callId === undefined) return;
    const { runId, calls } = request.body as RequestToolCalls;
    const waiting = requestOf(eventsOf(site, callId));
    if (!calls.some((call) => waiting !== undefined && isSameCall({ runId, ...call }, waiting)))
      fail(`a request was refused for ${callId}, which is identical with none of its calls`);
  },
});

/**
 * The turn of a call, whose question was counted when it was queued; a call that was queued as allowed is not counted at all. Words for a
 * question that waits for its turn.
 */
function isCountedBefore(site: Site, { callId, events }: Question): boolean {
  const recorded = eventsOf(site, callId);
  const asked = events.find(({ type }) => type === 'ApprovalRequested');
  const round = roundOf(asked ?? events.find(isQuestion));
  const places = recorded.filter(({ type }) => type === 'ToolCallQueued').map(roundOf);
  const wasToBeAllowed = places.includes(undefined) && !recorded.some(({ type }) => type === 'ToolCallAllowed');
  return places.includes(round) || (asked !== undefined && round === 1 && wasToBeAllowed);
}

/** The round of a question; undefined: the call is to be allowed at its turn. */
function roundOf(event: NewEvent | undefined): number | undefined {
  if (event?.type === 'ToolCallQueued') return (event.data as EventData<'ToolCallQueued'>).question?.round;
  return (event?.data as EventData<'ApprovalRequested'> | undefined)?.round;
}

function checkQuestion(site: Site, question: Question, limits: Quotas, fail: Fail): void {
  const { machine, isDeceived, callId, counted } = question;
  if (counted === undefined) return fail(`${machine} asked about ${callId} and counted nothing`);
  const asked = askedUpTo(site, counted.position);
  const what = `${machine} asked about ${callId} at position ${counted.position}`;
  const pending = asked.filter(({ approval }) => approval.resolution.status === 'pending');
  const waiting = waitingUpTo(site, counted.position);
  const cap = limits.pendingPerAgent ?? Infinity;
  if (pending.length + waiting + counted.callIds.size > cap)
    fail(`${what}, where ${pending.length} of ${cap} were pending and ${waiting} waited for their turn`);
  if (isCoolingDown(asked, counted, limits)) fail(`${what}, and the agent had to wait after denials`);
  if (!limits.coalesceIdentical || isDeceived) return;
  const same = pending.find(
    ({ call }) => !counted.callIds.has(call.request.callId) && isIdentical(site, call, question),
  );
  if (same !== undefined) fail(`${what}, and the identical ${same.call.request.callId} was pending`);
}

/** How many calls people will be asked about at their turn. */
function waitingUpTo({ world }: Site, position: number): number {
  const streams = [...world.log.streams].filter(([stream]) => stream.startsWith('toolCall-'));
  return streams.filter(([, events]) => {
    const call = stateOf(events.filter((event) => event.position <= position));
    return call.status === 'recorded' && (queuedIn(call)?.question ?? null) !== null;
  }).length;
}

/** The approvals of the only agent that requests calls, in the order in which people were asked. */
function askedUpTo({ world }: Site, position: number): readonly Asked[] {
  const asked = [...world.log.streams].flatMap(([stream, events]): Asked[] => {
    if (!stream.startsWith('toolCall-')) return [];
    const known = events.filter((event) => event.position <= position);
    const call = stateOf(known);
    if (call.status === 'unrequested') return [];
    return call.approvals.map((approval) => {
      const question = known.find(
        (event) => event.type === 'ApprovalRequested' && at(event, 'approvalId') === approval.approvalId,
      );
      return { call, approval, position: question?.position ?? 0 };
    });
  });
  return asked.toSorted((one, other) => one.position - other.position);
}

function isCoolingDown(asked: readonly Asked[], counted: Counted, { coolDown }: Quotas): boolean {
  if (coolDown === null) return false;
  const approved = asked.findLastIndex(
    ({ approval: { resolution, votes } }) =>
      resolution.status === 'approved' && votes.some(({ status, automatic }) => status === 'counted' && !automatic),
  );
  const denials = asked
    .slice(approved + 1)
    .flatMap(({ approval: { resolution } }) => (resolution.status === 'denied' ? [Date.parse(resolution.at)] : []))
    .slice(-coolDown.denials);
  const [first, last] = [Math.min(...denials), Math.max(...denials)];
  return denials.length === coolDown.denials && last - first <= coolDown.ms && counted.at < last + coolDown.ms;
}

/** The arguments as the agent requested them, before any edit. */
function isIdentical(site: Site, { request }: ToolCall, { callId, events }: Question): boolean {
  const mine = requestOf([...eventsOf(site, callId), ...events]);
  return mine !== undefined && isSameCall(mine, request);
}

type Comparable = Pick<EventData<'ToolCallRequested'>, 'runId' | 'toolName' | 'arguments'>;

function isSameCall(one: Comparable, other: Comparable): boolean {
  return one.runId === other.runId && one.toolName === other.toolName && areEqualJson(one.arguments, other.arguments);
}
