import { jcsDigest, type JsonValue, type ToolCallView } from '@countersign/contracts';
import { isTaskCall } from './tasks/task-ids.js';

/** One call of a client, and the id under which the ledger knows it. */
export interface KnownCall {
  readonly toolCallId: string;
  /** Waiting requests of the client for this call. */
  attached: number;
  /** The client has its final result: the next equal request is another call. */
  told: boolean;
}

/**
 * Recognises a call that the client makes again. MCP has no call id, so equal tool and arguments are the same call until
 * the client has its result; a call whose outcome is unknown stays the same call, so that it cannot run twice.
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
        calls.find(({ told, attached }) => !told && attached === 0);
      if (known !== undefined) return known;
      const toolCallId = givenId ?? `mcp_${key.slice(0, 32)}_${String(calls.length + 1)}`;
      const call = { toolCallId, attached: 0, told: false };
      calls.push(call);
      return call;
    },
    remember: (views) => {
      for (const view of views) {
        if (isTaskCall(view)) continue;
        const { calls } = callsOf(view.toolName, view.originalArguments ?? view.arguments);
        // The client may not have heard the result, so it hears it once more: a second run would be worse.
        calls.push({ toolCallId: view.toolCallId, attached: 0, told: false });
      }
    },
  };
}
