import { jcsDigest, type JsonValue, type ToolCallView } from '@countersign/contracts';
import { isTaskCall } from './tasks/task-ids.js';

/** One call of a client, and the id under which the ledger knows it. */
export interface KnownCall {
  readonly toolCallId: string;
  /** Waiting requests of the client for this call. */
  attached: number;
  /**
   * `unknown`: the tool may have run, and its outcome is not known. `told`: the client has the final result, so the next
   * equal request is another call.
   */
  state: 'open' | 'unknown' | 'told';
}

/**
 * Recognises a call that the client makes again. MCP has no call id, so equal tool and arguments are the same call until
 * the client has its result. A call whose outcome is unknown stays the same call, for any number of requests at once, so
 * that it cannot run twice.
 */
export interface SameCalls {
  /** @param givenId the id that the client itself gave to the call, if any. */
  readonly find: (toolName: string, args: JsonValue, givenId: string | undefined) => KnownCall;
  /** Takes over the calls of the run that an earlier process recorded. */
  readonly remember: (calls: readonly ToolCallView[]) => void;
}

export function createSameCalls(): SameCalls {
  const byAction = new Map<string, KnownCall[]>();
  const callsOf = (toolName: string, args: JsonValue): { readonly key: string; readonly calls: KnownCall[] } => {
    const key = jcsDigest({ toolName, args }).replace(/^sha256:/, '');
    const calls = byAction.get(key) ?? [];
    byAction.set(key, calls);
    return { key, calls };
  };
  return {
    find: (toolName, args, givenId) => {
      const { key, calls } = callsOf(toolName, args);
      const known =
        calls.find(({ toolCallId }) => toolCallId === givenId) ??
        calls.find(({ state }) => state === 'unknown') ??
        calls.find(({ state, attached }) => state === 'open' && attached === 0);
      if (known !== undefined) return known;
      const toolCallId = givenId ?? `mcp_${key.slice(0, 32)}_${String(calls.length + 1)}`;
      const call: KnownCall = { toolCallId, attached: 0, state: 'open' };
      calls.push(call);
      return call;
    },
    remember: (views) => {
      for (const view of views) {
        if (isTaskCall(view)) continue;
        const { calls } = callsOf(view.toolName, view.originalArguments ?? view.arguments);
        // The tool of a process that was killed: the end of the lease makes its call unknown.
        const mayHaveRun = view.state === 'unknown' || view.state === 'executing';
        // The client may not have heard the result, so it hears it once more: a second run would be worse.
        calls.push({ toolCallId: view.toolCallId, attached: 0, state: mayHaveRun ? 'unknown' : 'open' });
      }
    },
  };
}

/** One request of the client that waits for a call. */
export interface Attached {
  /** The request gets the final result of the call, or hears that its outcome is unknown. */
  readonly end: (outcome: 'final' | 'unknown') => void;
  /** The request does not wait any longer. */
  readonly release: () => void;
}

/** @param delivered resolves to whether the client got the reply to the request; to false when it left without. */
export function attach(known: KnownCall, delivered: Promise<boolean>): Attached {
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
    end: (outcome) => {
      isFinal = outcome === 'final';
      known.state = isFinal ? 'open' : 'unknown';
    },
    release,
  };
}
