import { cancelRun, claim, endInside, endRun, notCancelledOf, refused, takeTurn } from '@countersign/commands';
import type { Actor, OpenCall, OpenCalls, OpenCallsInside, Result } from '@countersign/commands';
import { isSettled } from '@countersign/contracts';
import {
  callState,
  currentApproval,
  holdsTurn,
  isSequential,
  nextRound,
  queuedIn,
  queueOf,
  requirementOf,
} from '@countersign/domain';
import type { ToolCall } from '@countersign/domain';
import { leaseMs } from './subject.ts';
import type { Loaded, World } from './write-side-world.ts';

/** A denial that ends the run of its principal, and its place in the log. */
interface EndedRun {
  readonly call: ToolCall;
  readonly position: number;
}

/** What the projector does after each command: turns, the end of runs, and the end of what runs inside cancelled calls. */
export interface Background {
  /** Does all of it, and returns the calls as they are then. */
  readonly settle: () => Promise<readonly Loaded[]>;
}

const isOpen = (call: ToolCall): boolean => !isSettled(callState(call) ?? 'allowed');

function endsRun(call: ToolCall): boolean {
  const approval = currentApproval(call);
  return approval?.resolution.status === 'denied' && requirementOf(approval).denyEndsRun === true;
}

export function createBackground(world: World, worker: Actor): Background {
  const { ports, loadAll, without } = world;
  const places = new Map<string, number>();
  const ended: EndedRun[] = [];
  const done = new Set<string>();

  const follow = (loaded: readonly Loaded[]): void => {
    for (const { state, position } of loaded) {
      const { callId } = state.request;
      if (queuedIn(state) === undefined) done.delete(`queued ${callId}`);
      else if (isNew(`queued ${callId}`)) places.set(callId, position);
      const approvalId = currentApproval(state)?.approvalId ?? '';
      if (endsRun(state) && isNew(`denied ${approvalId}`)) ended.push({ call: state, position });
    }
  };
  const isNew = (what: string): boolean => done.size < done.add(what).size;

  /** The first call of each queue that is not settled, where it waits. */
  const firsts = (loaded: readonly Loaded[]): readonly ToolCall[] => {
    const calls = loaded.map(({ state }) => state).filter((state) => isSequential(state.request) && holdsTurn(state));
    const placeOf = ({ request }: ToolCall): number => places.get(request.callId) ?? Infinity;
    const queues = Map.groupBy(calls, ({ request }) => queueOf(request));
    return [...queues.values()].flatMap((queue) => {
      const inOrder = queue.toSorted((one, other) => placeOf(one) - placeOf(other));
      const first = without === 'order-of-turns' ? inOrder.at(-1) : inOrder[0];
      return first !== undefined && queuedIn(first) !== undefined ? [first] : [];
    });
  };
  /** The latest denial that ended the run of a call after it was queued. */
  const endOf = ({ request: { callId, runId, requestedBy } }: ToolCall): string | undefined =>
    ended.findLast(
      ({ call: { request }, position }) =>
        request.runId === runId && request.requestedBy === requestedBy && position > (places.get(callId) ?? Infinity),
    )?.call.request.callId;

  const turn = (call: ToolCall, endedBy: string | undefined, round = nextRound(call)) =>
    takeTurn(ports, {
      tenant: 'default',
      callId: call.request.callId,
      round,
      ...(endedBy !== undefined && { endedBy }),
    });
  /** Attack: a projector that lags gives a call that waits again the turn of its place before. */
  const lag = async (loaded: readonly Loaded[]): Promise<void> => {
    for (const { state } of loaded) {
      const round = nextRound(state);
      const isAgain = queuedIn(state) !== undefined && round > 1;
      if (isAgain && isNew(`late ${state.request.callId} ${String(round)}`)) await turn(state, undefined, round - 1);
    }
  };

  const openCalls = openCallsOf(world);
  /** One more step of what is due; false: nothing is. */
  const step = async (loaded: readonly Loaded[]): Promise<boolean> => {
    await lag(loaded);
    const turns = firsts(loaded);
    for (const { request } of turns) {
      const endedBy = without === 'ended-runs' ? undefined : endOf(callOf(loaded, request.callId));
      await turn(callOf(loaded, request.callId), endedBy);
    }
    const denied = ended.filter(({ call }) => isNew(`ended ${currentApproval(call)?.approvalId ?? ''}`));
    // Attack: a worker waits for the turn of its call, which a denial before the end of the run may give.
    if (denied.length > 0)
      for (const { request } of turns)
        await claim(ports, worker, request.callId, { resolverId: 'r', leaseMs }, `early ${request.callId}`);
    for (const { call } of denied) {
      if (without !== 'denied-runs') await endRun(cancelPorts(world, openCalls), 'default', call.request.callId);
    }
    const cancelled = loaded.filter(({ state }) => callState(state) === 'cancelled').map(({ state }) => state.request);
    const fresh = cancelled.filter(({ callId }) => isNew(`inside ${callId}`));
    for (const { callId } of fresh) await endInside({ commands: ports, openCalls }, 'default', callId);
    return turns.length + denied.length + fresh.length > 0;
  };
  return {
    settle: async () => {
      for (;;) {
        const loaded = await loadAll();
        follow(loaded);
        if (!(await step(loaded))) return loaded;
      }
    },
  };
}

function callOf(loaded: readonly Loaded[], callId: string): ToolCall {
  const found = loaded.find(({ state }) => state.request.callId === callId);
  if (found === undefined) throw new Error(`${callId} is not recorded`);
  return found.state;
}

function cancelPorts({ ports, store }: World, openCalls: OpenCalls) {
  return { commands: ports, store, openCalls, clock: ports.clock, ids: ports.ids };
}

/** The open calls, as a read model without delay would have them. */
function openCallsOf({ loadAll, recorded, clock, without }: World): OpenCalls & OpenCallsInside {
  const states = async (): Promise<readonly ToolCall[]> => (await loadAll()).map(({ state }) => state);
  return {
    of: async (_, runId) => {
      const all = await states();
      const isIn = ({ request }: ToolCall): boolean =>
        [request, ...(request.chain ?? [])].some(
          (one) => one.runId === runId && one.requestedBy === request.requestedBy,
        );
      return {
        calls: all.filter((call) => isIn(call) && isOpen(call)).map(toOpenCall),
        requesters: all.filter(({ request }) => request.runId === runId).map(({ request }) => request.requestedBy),
        grants: recorded.grants
          .filter(
            ({ status, terms }) =>
              without !== 'run-grants' && status !== 'revoked' && Date.parse(terms.expiresAt) > clock.now(),
          )
          .flatMap(({ terms }) => (terms.runId === runId ? [terms] : [])),
      };
    },
    inside: async (_, outer) =>
      (await states())
        .filter(({ request: { chain = [], requestedBy } }) =>
          chain.some((link) => link.callId === outer && link.requestedBy === requestedBy),
        )
        .filter(isOpen)
        .map(toOpenCall),
  };
}

function toOpenCall(call: ToolCall): OpenCall {
  const { callId, requestedBy } = call.request;
  return { callId, requestedBy, ...(queuedIn(call) !== undefined && { waitsForTurn: true as const }) };
}

/** Cancels the open calls of a run that a principal may cancel. */
export async function cancelRunOf(world: World, by: Actor, runId: string): Promise<Result<unknown> | null> {
  const openCalls = openCallsOf(world);
  const { requesters } = await openCalls.of('default', runId);
  if (requesters.length === 0) return refused('not-found', 'no such run');
  const cancelled = await cancelRun(cancelPorts(world, openCalls), by, { runId, reason: 'no' }, world.nextId());
  if (!('calls' in cancelled)) return cancelled;
  const [left] = notCancelledOf(cancelled);
  return left === undefined ? null : { status: 'refused', refusal: left.refusal };
}
