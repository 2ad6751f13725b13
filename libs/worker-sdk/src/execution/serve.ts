import type { ToolCallView } from '@countersign/contracts';
import { linkedController } from '@countersign/http-client';
import { createChanges, type Changed, type Changes } from '../ledger/changes.js';
import { isRefusal } from '../errors.js';
import type { ExecutionPorts } from './execution-ports.js';
import type { Executions } from './executions.js';
import type { GateTool } from '../tools/tool-definition.js';
import { isElsewhere } from './verify-claim.js';
import { lookEveryMs, lookRegularly } from '../ledger/look-regularly.js';
import type { Requests, RunNews } from '../ledger/requests.js';

/** `serve`: what to run, and for how long. */
export interface ServeOptions<C = unknown> {
  /**
   * Default: the tools of the worker that are not in `toolsElsewhere`. Those of the worker that are not among them are
   * left to `step`, `wait` and the like.
   */
  readonly tools?: readonly GateTool<C>[] | undefined;
  /** Ends it. Tools that run go on; `close` waits for them. */
  readonly signal?: AbortSignal | undefined;
  /** Reaches the tools. */
  readonly context?: C | undefined;
  /** How many calls run at once. Default: 8; one for a sequential worker. */
  readonly concurrency?: number | undefined;
}

/** The dependencies of `serve`. */
export interface ServePorts extends ExecutionPorts {
  readonly agentId: string;
  readonly requests: Pick<Requests, 'approval' | 'cancel' | 'listenFor'>;
  readonly executions: Executions;
  readonly tools: ReadonlyMap<string, GateTool>;
  readonly runsElsewhere: (toolName: string) => boolean;
  readonly concurrency: number;
  readonly context: unknown;
}

/**
 * How long a call that needed no approval is left to the process that requested it. Half of the time between two looks:
 * a call that one look finds is due at the next one.
 */
const leftToRequesterMs = lookEveryMs / 2;

/** After these a call may be claimable. Calls that need no approval are not waited for: who requests them runs them. */
const wakingTypes = ['ApprovalResponded', 'ToolCallCommitted', 'ExecutionLapsed', 'ExecutionReconciled'];

/**
 * Runs the approved calls of the agent, in any run, until the signal aborts. A call that needed no approval belongs to
 * the process that requested it; one that is still open at a later look was lost by that process, and runs too, unless its
 * tool needs an approval here: then people are asked first.
 * Throws `CountersignError` when the server refuses the token.
 */
export async function serveCalls(ports: ServePorts, signal: AbortSignal): Promise<void> {
  const changes = createChanges();
  const ending = linkedController(signal);
  const places = createPlaces(ports, changes);
  const firstSeen = new Map<string, number>();
  const stopLooking = lookRegularly(ports.clock, changes);
  void listen(ports, changes, ending.signal);
  changes.addAnything();
  try {
    for (;;) {
      const changed = await changes.next(ending.signal);
      const calls = await openCalls(ports, changed, ending.signal);
      if (changed === 'anything') keepOnly(firstSeen, calls);
      places.add(calls.filter((call) => isDue(ports, firstSeen, call)));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    stopLooking();
    places.clear();
    ending.abort(new Error('no longer serving'));
    ending.release();
  }
}

/** The changes are runs, not calls: an approval may release other calls of its batch. */
function listen({ requests, agentId }: ServePorts, changes: Changes, signal: AbortSignal): Promise<void> {
  const onNews = (news: RunNews): void => {
    // Events that older servers recorded do not name the agent.
    if (news.runId !== null && (news.agentId ?? agentId) === agentId) changes.add(news.runId);
  };
  return requests.listenFor(wakingTypes, changes, onNews, signal);
}

/** One list of all open calls is cheaper than more lists than this. */
const runsListedMax = 16;

/** The calls that may be claimable, the oldest first. */
async function openCalls(ports: ServePorts, changed: Changed, signal: AbortSignal): Promise<readonly ToolCallView[]> {
  const runIds = changed === 'anything' || changed.size > runsListedMax ? [undefined] : [...changed];
  const lists = await Promise.all(runIds.map((runId) => openCallsOf(ports, runId, signal)));
  return lists.flat();
}

async function openCallsOf(ports: ServePorts, runId: string | undefined, signal: AbortSignal): Promise<ToolCallView[]> {
  const { requester, agentId } = ports;
  const filter = { state: ['approved', 'allowed'], agentId, runId, order: 'oldest' } as const;
  const calls: ToolCallView[] = [];
  for await (const call of requester.eachToolCall({ ...filter, signal, attempts: Infinity })) calls.push(call);
  return calls;
}

function isDue({ clock }: ServePorts, firstSeen: Map<string, number>, { callId, state }: ToolCallView): boolean {
  if (state === 'approved') return true;
  const seenAt = firstSeen.get(callId) ?? clock.monotonic();
  firstSeen.set(callId, seenAt);
  if (clock.monotonic() - seenAt < leftToRequesterMs) return false;
  firstSeen.delete(callId);
  return true;
}

function keepOnly(firstSeen: Map<string, number>, calls: readonly ToolCallView[]): void {
  const open = new Set(calls.map(({ callId }) => callId));
  for (const callId of firstSeen.keys()) if (!open.has(callId)) firstSeen.delete(callId);
}

interface Places {
  /** Runs the calls as soon as the concurrency limit allows. */
  readonly add: (calls: readonly ToolCallView[]) => void;
  /** Forgets those that wait. */
  readonly clear: () => void;
}

function createPlaces(ports: ServePorts, changes: Changes): Places {
  const { executions, tools, concurrency, context } = ports;
  const waiting = new Map<string, ToolCallView>();
  const taken = new Set<string>();

  const begin = (call: ToolCallView): void => {
    const request = { call, tool: tools.get(call.toolName), argumentsHash: null, given: { context, messages: [] } };
    const run = executions.joinOrBegin(call, request);
    if (run === undefined) return;
    taken.add(call.callId);
    void run
      .catch((error: unknown) => {
        // Other errors concern one call, and are in the log.
        if (isRefusal(error, 'forbidden', 'unauthenticated')) changes.fail(error);
      })
      .finally(() => {
        taken.delete(call.callId);
        fill();
      });
  };
  const fill = (): void => {
    for (const [callId, call] of waiting) {
      if (taken.size >= concurrency) return;
      waiting.delete(callId);
      begin(call);
    }
  };
  return {
    add: (calls) => {
      for (const call of calls) if (isOurs(ports, call) && !taken.has(call.callId)) waiting.set(call.callId, call);
      fill();
    },
    clear: () => {
      waiting.clear();
    },
  };
}

function isOurs({ tools, runsElsewhere }: ServePorts, call: ToolCallView): boolean {
  if (call.clientExecuted === true) return false;
  const tool = tools.get(call.toolName);
  if (tool === undefined) return !runsElsewhere(call.toolName);
  return !tool.clientExecuted && !isElsewhere(call, tool);
}
