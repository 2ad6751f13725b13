import { batchStream, toolCallStream } from '@countersign/contracts';
import {
  batchDecider,
  callToSettle,
  closingOf,
  concernsBatch,
  isBatchMember,
  neededWord,
  settlementOf,
  standingIn,
  standingOf,
  toolCallDecider,
  toolCallRules,
} from '@countersign/domain';
import type {
  BatchBound,
  BatchCommand,
  BatchMember,
  BatchState,
  BrokenBatch,
  Ending,
  ToolCall,
  ToolCallState,
} from '@countersign/domain';
import type { CommandResult } from './stream/handle-command.js';
import { builtAgain } from './stream/built-again.js';
import { callOf, withToolCall } from './stream/with-tool-call.js';
import { stopped } from './stops/stopped.js';
import type { Refused } from './stream/with-tool-call.js';
import type { Result } from './result.js';
import type { CommandPorts } from './ports.js';
import { UnreadableStreamError } from './stream/unreadable-stream.js';

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
  const needed = neededWord(command, call);
  switch (needed.word) {
    case 'nothing':
      return command;
    case 'begin':
      return begin(ports, call, commandId).then((begun) =>
        begun.status === 'accepted' ? { ...command, batch: 'begun' } : { status: 'refused', refusal: begun.refusal },
      );
    case 'break':
      return breakBatch(ports, call, needed.ending, commandId).then((broken) => {
        if (broken.status === 'accepted') return { ...command, batch: 'broken' };
        // Attack: a word that cannot be read may have broken the batch, so it is not taken for a begun one.
        return broken.refusal.code === 'unreadable' ? broken : { ...command, batch: 'begun' };
      });
    case 'look':
      return fateOf(ports, call).then(({ status: batch }) => ({ ...command, batch }));
  }
}

/** The same for a command that is built from more than the call: it is built again after the batch was looked at. */
export function builtInBatch<Command extends BatchBound>(
  ports: CommandPorts,
  call: ToolCall,
  build: () => Command | Refused,
  commandId: string,
): Command | Refused | Promise<Command | Refused> {
  const first = build();
  return 'refusal' in first ? first : builtAgain(first, build, (command) => inBatch(ports, call, command, commandId));
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
  const { state, commandIds, unreadable } = await ports.batches.look(batchStream(call.request));
  if (unreadable !== undefined || state.status !== 'broken' || !commandIds.includes(commandId)) return undefined;
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
      const found = state.status === 'open' ? await membersOf(ports, call) : [];
      const held = word.type === 'BeginBatch' ? firstStopped(ports, found) : undefined;
      if (held !== undefined) return held;
      const { decideBatch = batchDecider.decide } = ports;
      return decideBatch({ ...word, at: ports.clock.now(), members: found.map(({ member }) => member) }, state);
    },
    { tenant, runId, callId: null, commandId },
  );
}

/** The states of the members of a call's batch, each from its own stream. */
async function membersOf(ports: CommandPorts, call: ToolCall): Promise<FoundMember[]> {
  const { callId, batchCallIds } = call.request;
  return Promise.all(
    batchCallIds.map(async (memberId): Promise<FoundMember> => {
      if (memberId === callId) return { member: { callId, standing: standingOf(call) }, call };
      const { state, unreadable } = await ports.handler.look(toolCallStream(memberId));
      const member = { callId: memberId, standing: standingIn(unreadable === undefined ? state : null, call) };
      return { member, call: unreadable === undefined ? callOf(state, call.request.tenant) : undefined };
    }),
  );
}

/** `call`: undefined where it is not recorded, or cannot be read. */
interface FoundMember {
  readonly member: BatchMember;
  readonly call: ToolCall | undefined;
}

/** A batch that runs together or not at all does not begin while a stop holds back one of its members. */
function firstStopped(ports: CommandPorts, members: readonly FoundMember[]): Refused | undefined {
  for (const { call } of members) {
    const held = call && stopped(ports, call.request);
    if (held !== undefined) return held;
  }
  return undefined;
}

/**
 * Brings the batch of a call in line after the call ended, or was asked about: a member that ended without having run breaks
 * the batch, and the open members of a broken batch are cancelled. Harmless to repeat. Returns the position of the log
 * afterwards, 0 when there was nothing to do.
 */
export async function settleBatch(ports: CommandPorts, call: ToolCall): Promise<number> {
  return concernsBatch(call) ? settle(ports, call).catch(nothingIfUnreadable) : 0;
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
  const call = callToSettle(found, recorded);
  return call === undefined ? 0 : settle(ports, call);
}

async function settle(ports: CommandPorts, call: ToolCall): Promise<number> {
  let settlement = settlementOf(call, await fateOf(ports, call));
  if (settlement.step === 'break') {
    const spoken = await breakBatch(ports, call, settlement.ending, `batch:${call.request.callId}`);
    settlement = settlementOf(call, spoken.state);
  }
  switch (settlement.step) {
    case 'close-question':
      return commitToBatch(ports, call.request);
    case 'close-members':
      return closeMembers(ports, call, settlement.fate);
    case 'none':
    case 'break':
      return 0;
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

async function closeMembers(ports: CommandPorts, call: ToolCall, fate: BrokenBatch): Promise<number> {
  const siblings = fate.callIds.filter((callId) => callId !== fate.callId);
  const positions = await Promise.all(siblings.map((callId) => closeMember(ports, call, fate, callId)));
  // Last: the process that settled the batch is most likely about to end this member.
  return Math.max(0, ...positions, await closeMember(ports, call, fate, fate.callId));
}

async function closeMember(ports: CommandPorts, call: ToolCall, fate: BrokenBatch, callId: string): Promise<number> {
  const { tenant } = call.request;
  const target = { tenant, callId, commandId: `batch:${fate.callId}` };
  const outcome = await withToolCall(ports, target, toolCallDecider.decide, (member, at) =>
    closingOf(member, call, fate, at),
  );
  return outcome.status === 'done' ? outcome.position : 0;
}
