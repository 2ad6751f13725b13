import { jcsDigest, type JsonValue, type ToolCallView } from '@countersign/contracts';
import { isTaskCall } from './tasks/task-ids.js';

/** One call of a client, and the id under which the ledger knows it. */
interface KnownCall {
  readonly toolCallId: string;
  /** Waiting requests of the client for this call. */
  attached: number;
  /**
   * `unknown`: the tool may have run, and its outcome is not known. `told`: the client has the final result, so the next
   * equal request is another call.
   */
  state: 'open' | 'unknown' | 'told';
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
   *
   * @param delivered resolves to whether the client got the reply to the request; to false when it left without.
   */
  readonly attach: (request: CallRequest, delivered: Promise<boolean>) => Attached;
  /** Takes over the calls of the run that an earlier process recorded. @param views the oldest first. */
  readonly remember: (views: AsyncIterable<ToolCallView>) => Promise<void>;
}

export function createSameCalls(): SameCalls {
  const byAction = new Map<string, KnownCall[]>();
  const callsOf = (name: string, args: JsonValue): { readonly key: string; readonly calls: KnownCall[] } => {
    const key = jcsDigest({ toolName: name, args }).replace(/^sha256:/, '');
    const calls = byAction.get(key) ?? [];
    byAction.set(key, calls);
    return { key, calls };
  };
  const find = ({ name, args, givenId }: CallRequest): KnownCall => {
    const { key, calls } = callsOf(name, args);
    const known =
      calls.find(({ toolCallId }) => toolCallId === givenId) ??
      calls.find(({ state }) => state === 'unknown') ??
      calls.find(({ state, attached }) => state === 'open' && attached === 0);
    if (known !== undefined) return known;
    const toolCallId = givenId ?? `mcp_${key.slice(0, 32)}_${String(calls.length + 1)}`;
    const call: KnownCall = { toolCallId, attached: 0, state: 'open' };
    calls.push(call);
    return call;
  };
  return {
    attach: (request, delivered) => attachTo(find(request), delivered),
    remember: async (views) => {
      // An attempt that failed may have left a part of them.
      byAction.clear();
      const settledMs = new Map<KnownCall, number>();
      for await (const view of views) {
        if (isTaskCall(view)) continue;
        const { calls } = callsOf(view.toolName, view.originalArguments ?? view.arguments);
        // The next equal call began when the client had the result of this one.
        for (const earlier of calls) {
          if ((settledMs.get(earlier) ?? Infinity) <= Date.parse(view.requestedAt)) earlier.state = 'told';
        }
        const call: KnownCall = { toolCallId: view.toolCallId, attached: 0, state: stateOf(view) };
        calls.push(call);
        if (call.state === 'open' && view.settledAt !== null) settledMs.set(call, Date.parse(view.settledAt));
      }
    },
  };
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
  /** The request gets the final result of the call, or hears that its outcome is unknown. */
  readonly end: (outcome: 'final' | 'unknown') => void;
  /** The request does not wait any longer. */
  readonly release: () => void;
}

function attachTo(known: KnownCall, delivered: Promise<boolean>): Attached {
  let isAttached = true;
  let isFinal = false;
  known.attached += 1;
  const release = (): void => {
    if (isAttached) known.attached -= 1;
    isAttached = false;
  };
  void delivered.then((isDelivered) => {
    release();
    if (isDelivered && isFinal) known.state = 'told';
  });
  return {
    toolCallId: known.toolCallId,
    end: (outcome) => {
      isFinal = outcome === 'final';
      // The client may have the result already, from another request for this call.
      if (known.state !== 'told') known.state = isFinal ? 'open' : 'unknown';
    },
    release,
  };
}
