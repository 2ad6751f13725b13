import { batchStream, toolCallStream } from '@countersign/contracts';
import {
  dueCommand,
  endingOf,
  hasSameMembers,
  isBatchMember,
  isLateQuestion,
  standingOf,
  batchDecider,
  toolCallDecider,
  toolCallRules,
} from '@countersign/domain';
import type {
  BatchCommand,
  BatchFate,
  BatchMember,
  BatchState,
  Ending,
  ToolCall,
  ToolCallCommand,
  ToolCallState,
} from '@countersign/domain';
import type { CommandResult } from './stream/handle-command.js';
import { callOf, withToolCall } from './stream/with-tool-call.js';
import type { Refused } from './stream/with-tool-call.js';
import { refused } from './result.js';
import type { Result } from './result.js';
import type { CommandPorts } from './ports.js';
import { UnreadableStreamError } from './stream/unreadable-stream.js';

/** The commands whose result may depend on the batch of the call. */
type BatchBound = Extract<ToolCallCommand, { readonly batch?: BatchFate }>;

/**
 * Settles the batch of a call before a command that depends on it: a member runs only in a batch that has begun, and a
 * permitted member ends only in a broken one. The batch's event is recorded before the member's own. It costs nothing
 * for a call outside all-or-nothing batches.
 */
export function inBatch<Command extends BatchBound>(
  ports: CommandPorts,
  call: ToolCall,
  command: Command,
  commandId: string,
): Command | Promise<Command | Refused> {
  return isBatchMember(call) && !call.committed ? askBatch(ports, call, command, commandId) : command;
}

async function askBatch<Command extends BatchBound>(
  ports: CommandPorts,
  call: ToolCall,
  command: Command,
  commandId: string,
): Promise<Command | Refused> {
  const decision = toolCallDecider.decide(command, call);
  const code = decision.status === 'refused' ? decision.refusal.code : undefined;
  if (code === 'batch-incomplete') {
    const begun = await begin(ports, call, commandId);
    return begun.status === 'accepted' ? { ...command, batch: 'begun' } : { status: 'refused', refusal: begun.refusal };
  }
  if (code === 'batch-begun') {
    const ending = endingAfter(call, { ...command, batch: 'broken' });
    const broken = ending === undefined ? undefined : await breakBatch(ports, call, ending, commandId);
    return { ...command, batch: broken?.status === 'accepted' ? 'broken' : 'begun' };
  }
  // In a batch that has begun, a request for approval may be too late, and the right to run does not lapse.
  const looks = isQuestion(command) || code === 'approval-lapsed';
  return looks ? { ...command, batch: (await fateOf(ports, call)).status } : command;
}

function isQuestion({ type }: BatchBound): boolean {
  return type === 'RequestApproval' || type === 'RequestToolCall';
}

/** How the call would have ended by the command. */
function endingAfter(call: ToolCall, command: BatchBound): Ending | undefined {
  const decision = toolCallDecider.decide(command, call);
  if (decision.status === 'refused') return undefined;
  const after = decision.events.reduce<ToolCallState>((state, event) => toolCallDecider.evolve(state, event), call);
  return after.status === 'recorded' ? endingOf(after) : undefined;
}

/** The state of the call's batch, from its stream. */
export async function fateOf(ports: CommandPorts, call: ToolCall): Promise<BatchState> {
  return (await ports.batches.load(batchStream(call.request))).state;
}

/**
 * The result of a refused command that had broken the batch of its call before another process changed the call: it has
 * taken effect, and the open members are cancelled in its name. Undefined for every other command.
 */
export async function doneByWord(
  ports: CommandPorts,
  call: ToolCall | undefined,
  commandId: string,
): Promise<Result | undefined> {
  if (call === undefined || !isBatchMember(call)) return undefined;
  const { state, commandIds } = await ports.batches.load(batchStream(call.request));
  if (state.status !== 'broken' || !commandIds.includes(commandId)) return undefined;
  return { status: 'done', value: undefined, position: await closeMembers(ports, call, state) };
}

function begin(ports: CommandPorts, call: ToolCall, commandId: string) {
  return speak(ports, call, commandId, { type: 'BeginBatch', ...about(call) });
}

function breakBatch(ports: CommandPorts, call: ToolCall, { state, reason, by }: Ending, commandId: string) {
  return speak(ports, call, commandId, { type: 'BreakBatch', ...about(call), state, reason, brokenBy: by });
}

function about({ request: { callId, requestedBy, batchCallIds } }: ToolCall) {
  return { callId, requestedBy, callIds: batchCallIds };
}

type Word = BatchCommand extends infer C ? (C extends BatchCommand ? Omit<C, 'at' | 'members'> : never) : never;

/** Records the result unless another is recorded. The members are read only before that. */
function speak(ports: CommandPorts, call: ToolCall, commandId: string, word: Word): Promise<CommandResult<BatchState>> {
  const { tenant, runId } = call.request;
  return ports.batches.handleCommand(
    batchStream(call.request),
    async (state) => {
      const members = state.status === 'open' ? await membersOf(ports, call) : [];
      const { decideBatch = batchDecider.decide } = ports;
      return decideBatch({ ...word, at: ports.clock.now(), members }, state);
    },
    { tenant, runId, callId: null, commandId },
  );
}

/** The states of the members of a call's batch, each from its own stream. */
async function membersOf(ports: CommandPorts, call: ToolCall): Promise<BatchMember[]> {
  const { callId, batchCallIds } = call.request;
  return Promise.all(
    batchCallIds.map(async (memberId): Promise<BatchMember> => {
      if (memberId === callId) return { callId, standing: standingOf(call) };
      const { state, unreadable } = await ports.handler.look(toolCallStream(memberId));
      // Whether it was denied since is unknown, so the batch does not begin.
      if (unreadable !== undefined) return { callId: memberId, standing: 'missing' };
      return { callId: memberId, standing: isMemberOf(state, call) ? standingOf(state) : 'missing' };
    }),
  );
}

/**
 * Attack: a batch names the calls of another principal, to block or to cancel them. Only calls that the same principal
 * requested with the same list are members.
 */
function isMemberOf(state: ToolCallState, { request }: ToolCall): state is ToolCall {
  return (
    isMemberState(state) &&
    state.request.tenant === request.tenant &&
    state.request.requestedBy === request.requestedBy &&
    hasSameMembers(state.request.batchCallIds, request.batchCallIds)
  );
}

/**
 * Brings the batch of a call in line after the call ended, or was asked about: a member that ended without having run breaks
 * the batch, and the open members of a broken batch are cancelled. Harmless to repeat. Returns the position of the log
 * afterwards, 0 when there was nothing to do.
 */
export async function settleBatch(ports: CommandPorts, call: ToolCall): Promise<number> {
  const concerns = isBatchMember(call) && (endingOf(call) !== undefined || isLateQuestion(call));
  return concerns ? settle(ports, call) : 0;
}

/** Like `settleBatch`, for a member that may still be open because its process crashed after the batch was settled. */
export async function closeBatch(ports: CommandPorts, tenant: string, callId: string): Promise<number> {
  const { state, unreadable } = await ports.handler.look(toolCallStream(callId));
  const call = unreadable === undefined ? callOf(state, tenant) : undefined;
  return call === undefined || !isBatchMember(call) ? 0 : settle(ports, call).catch(nothingIfUnreadable);
}

/** A batch whose word cannot be read is set aside: there is nothing to close. */
function nothingIfUnreadable(error: unknown): number {
  if (error instanceof UnreadableStreamError) return 0;
  throw error;
}

/** Like `settleBatch`, for the calls of one request, as they were found and as they were recorded. */
export async function settleRequested(
  ports: CommandPorts,
  found: readonly ToolCallState[],
  recorded: readonly ToolCallState[],
): Promise<number> {
  const ended = [...found, ...recorded].find((state) => isMemberState(state) && endingOf(state) !== undefined);
  // A retry may have completed a batch that broke before all of its calls were recorded.
  const call = ended ?? found.find(isMemberState);
  return call !== undefined && isMemberState(call) ? settle(ports, call) : 0;
}

function isMemberState(state: ToolCallState): state is ToolCall {
  return state.status === 'recorded' && isBatchMember(state);
}

async function settle(ports: CommandPorts, call: ToolCall): Promise<number> {
  const before = await fateOf(ports, call);
  const ending = endingOf(call);
  const fate =
    before.status === 'open' && ending !== undefined
      ? (await breakBatch(ports, call, ending, `batch:${call.request.callId}`)).state
      : before;
  switch (fate.status) {
    case 'open':
      return 0;
    case 'begun':
      return isLateQuestion(call) ? commitToBatch(ports, call.request) : 0;
    case 'broken':
      return closeMembers(ports, call, fate);
  }
}

/** Closes a question that was put about an allowed member after its batch had begun. */
export async function commitToBatch(
  ports: CommandPorts,
  { tenant, callId }: { readonly tenant: string; readonly callId: string },
): Promise<number> {
  const target = { tenant, callId, commandId: `commit:${callId}` };
  const outcome = await withToolCall(ports, target, toolCallRules.commitToBatch, (_, at) => ({
    type: 'CommitToBatch',
    at,
    batch: 'begun',
  }));
  return outcome.status === 'done' ? outcome.position : 0;
}

type Broken = Extract<BatchState, { readonly status: 'broken' }>;

async function closeMembers(ports: CommandPorts, call: ToolCall, fate: Broken): Promise<number> {
  const siblings = fate.callIds.filter((callId) => callId !== fate.callId);
  const positions = await Promise.all(siblings.map((callId) => closeMember(ports, call, fate, callId)));
  // Last: the process that settled the batch is most likely about to end this member.
  return Math.max(0, ...positions, await closeMember(ports, call, fate, fate.callId));
}

async function closeMember(ports: CommandPorts, call: ToolCall, fate: Broken, callId: string): Promise<number> {
  const { tenant } = call.request;
  const target = { tenant, callId, commandId: `batch:${fate.callId}` };
  const outcome = await withToolCall(ports, target, toolCallDecider.decide, (member, at) =>
    isMemberOf(member, call) ? closing(member, fate, at) : refused('forbidden', 'the call belongs to another batch'),
  );
  return outcome.status === 'done' ? outcome.position : 0;
}

/** The member that broke the batch ends as its own process meant it to; the others are cancelled. */
function closing(member: ToolCall, fate: Broken, at: number): ToolCallCommand {
  if (member.request.callId !== fate.callId) {
    const reason = `the call ${fate.callId} of the same all-or-nothing batch was ${fate.state}`;
    return { type: 'CancelToolCall', at, reason, cancelledBy: 'countersign', reach: 'any', batch: 'broken' };
  }
  const due = fate.state === 'expired' ? dueCommand(member, at) : null;
  return due?.type === 'ExpireApproval' || due?.type === 'LapseApproval'
    ? { ...due, batch: 'broken' }
    : { type: 'CancelToolCall', at, reason: fate.reason, cancelledBy: fate.brokenBy, reach: 'any', batch: 'broken' };
}
