import { jcsDigest, type JsonValue, type ToolCallView } from '@countersign/contracts';
import { isTaskCall } from './task-ids.js';

/** One call of a client, and the id under which the ledger knows it. */
interface KnownCall {
  readonly toolCallId: string;
  /** Waiting requests of the client for this call. */
  attached: number;
  /**
   * `new`: it is not known to be recorded. `unknown`: the tool may have run, and its outcome is not known. `told`: the
   * client has the final result, so the next equal request is another call.
   */
  state: 'new' | 'open' | 'unknown' | 'told';
}

/** The calls of one tool with the same arguments. */
interface EqualCalls {
  /** The ids that the gate gives them begin with it, and end with a number. */
  readonly prefix: string;
  readonly calls: Set<KnownCall>;
  /** The highest number in use, also by calls for other servers. */
  lastNumber: number;
  /** A call for another server that may have taken effect, by its id. It may be the same server after a change. */
  unclear: string | undefined;
}

/** A request of the client for a call. */
export interface CallRequest {
  readonly name: string;
  readonly args: JsonValue;
  /** The id that the client itself gave to the call, if any. */
  readonly givenId: string | undefined;
}

/**
 * Recognises a call that the client makes again. MCP has no call id, so equal tool and arguments are the same call until
 * the client has its result. A call whose outcome is unknown stays the same call, for any number of requests at once, so
 * that it cannot run twice.
 */
export interface SameCalls {
  /**
   * Attaches a request to its call: in one step with the search, so that an equal request at the same time finds another.
   * Throws a TypeError when the client gave the id of a call for another server, or when the outcome of an equal call for
   * another server is unknown.
   *
   * @param delivered resolves to whether the client got the reply to the request; to false when it left without.
   */
  readonly attach: (request: CallRequest, delivered: Promise<boolean>) => Attached;
  /**
   * Takes over the calls of the run that an earlier process recorded.
   *
   * @param views the oldest first.
   * @param isOurs returns whether a call is for the server of this gate. No request is attached to another.
   */
  readonly remember: (views: AsyncIterable<ToolCallView>, isOurs: (view: ToolCallView) => boolean) => Promise<void>;
}

export function createSameCalls(): SameCalls {
  const byAction = new Map<string, EqualCalls>();
  const ofOthers = new Set<string>();
  const equalTo = (name: string, args: JsonValue): EqualCalls => {
    const key = jcsDigest({ toolName: name, args }).replace(/^sha256:/, '');
    const prefix = `mcp_${key.slice(0, 32)}_`;
    const equal: EqualCalls = byAction.get(key) ?? { prefix, calls: new Set(), lastNumber: 0, unclear: undefined };
    byAction.set(key, equal);
    return equal;
  };
  const find = (equal: EqualCalls, givenId: string | undefined): KnownCall => {
    const calls = [...equal.calls];
    const known =
      calls.find(({ toolCallId }) => toolCallId === givenId) ??
      calls.find(({ state }) => state === 'unknown') ??
      calls.find(({ state, attached }) => (state === 'new' || state === 'open') && attached === 0);
    if (known !== undefined) return known;
    const toolCallId = givenId ?? `${equal.prefix}${String(equal.lastNumber + 1)}`;
    const call: KnownCall = { toolCallId, attached: 0, state: 'new' };
    equal.calls.add(call);
    countIn(equal, toolCallId);
    return call;
  };
  return {
    attach: ({ name, args, givenId }, delivered) => {
      if (givenId !== undefined && ofOthers.has(givenId)) throw new TypeError(forAnother(givenId));
      const equal = equalTo(name, args);
      if (equal.unclear !== undefined) throw new TypeError(unclearText(equal.unclear));
      const known = find(equal, givenId);
      return attachTo(known, delivered, () => equal.calls.delete(known));
    },
    remember: async (views, isOurs) => {
      // An attempt that failed may have left a part of them.
      byAction.clear();
      ofOthers.clear();
      const settledMs = new Map<KnownCall, number>();
      for await (const view of views) {
        if (isTaskCall(view)) continue;
        const equal = equalTo(view.toolName, view.originalArguments ?? view.arguments);
        countIn(equal, view.toolCallId);
        if (!isOurs(view)) {
          ofOthers.add(view.toolCallId);
          if (stateOf(view) === 'unknown') equal.unclear = view.toolCallId;
          continue;
        }
        takeOver(equal, view, settledMs);
      }
    },
  };
}

function takeOver(equal: EqualCalls, view: ToolCallView, settledMs: Map<KnownCall, number>): void {
  // The next equal call began when the client had the result of this one.
  for (const earlier of equal.calls) {
    if ((settledMs.get(earlier) ?? Infinity) <= Date.parse(view.requestedAt)) earlier.state = 'told';
  }
  const call: KnownCall = { toolCallId: view.toolCallId, attached: 0, state: stateOf(view) };
  equal.calls.add(call);
  if (call.state === 'open' && view.settledAt !== null) settledMs.set(call, Date.parse(view.settledAt));
}

/** A client may give its own calls ids of this form. */
function countIn(equal: EqualCalls, toolCallId: string): void {
  if (!toolCallId.startsWith(equal.prefix)) return;
  const number = /^\d{1,9}$/.exec(toolCallId.slice(equal.prefix.length))?.[0];
  equal.lastNumber = Math.max(equal.lastNumber, Number(number ?? 0));
}

function forAnother(toolCallId: string): string {
  return `the run has a call ${toolCallId} for another MCP server or agent. Give each server a --run-id of its own`;
}

function unclearText(toolCallId: string): string {
  return `it is not known whether the equal call ${toolCallId} of this run took effect. It was for another server, or for this one before its command changed. Reconcile it, and start the gate again; or give the server a --run-id of its own`;
}

function stateOf({ state }: ToolCallView): KnownCall['state'] {
  // The tool of a process that was killed: the end of the lease makes its call unknown.
  if (state === 'unknown' || state === 'executing') return 'unknown';
  // The client may not have heard the result, so it hears it once more: a second run would be worse.
  return 'open';
}

/** One request of the client that waits for a call. */
export interface Attached {
  /** The id of its call. */
  readonly toolCallId: string;
  /** Countersign has recorded the call. */
  readonly recorded: () => void;
  /** Countersign has refused the request. A call that is not recorded is forgotten: its id would be refused again. */
  readonly refused: () => void;
  /**
   * The request gets the final result of the call, or hears that its outcome is unknown. A client that has got a task
   * already finds the result by its id.
   */
  readonly end: (outcome: 'final' | 'unknown') => void;
  /** The request does not wait any longer. */
  readonly release: () => void;
}

function attachTo(known: KnownCall, delivered: Promise<boolean>, forget: () => void): Attached {
  let isAttached = true;
  let isFinal = false;
  let hasArrived = false;
  known.attached += 1;
  const release = (): void => {
    if (isAttached) known.attached -= 1;
    isAttached = false;
  };
  void delivered.then((isDelivered) => {
    release();
    hasArrived = isDelivered;
    if (isDelivered && isFinal) known.state = 'told';
  });
  return {
    toolCallId: known.toolCallId,
    recorded: () => {
      if (known.state === 'new') known.state = 'open';
    },
    refused: () => {
      if (known.state === 'new') forget();
    },
    end: (outcome) => {
      isFinal = outcome === 'final';
      // The client may have the result already, from another request for this call.
      if (known.state !== 'told') known.state = isFinal ? (hasArrived ? 'told' : 'open') : 'unknown';
    },
    release,
  };
}
