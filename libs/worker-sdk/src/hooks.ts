import type { ToolCallView } from '@countersign/contracts';
import { messageOf } from './errors.js';
import type { WorkerLog } from './log.js';
import { resultOf, type ToolResult } from './results/results.js';

/**
 * Functions that hear what happens to the calls of a worker, for metrics and traces. Each fact is told once by a worker;
 * after a restart it may be told again. Each gets a copy. A hook that throws or rejects is logged and changes nothing.
 */
export interface WorkerHooks {
  /** The call is recorded. `call.state` says whether people are asked. */
  readonly onRequested?: ((call: ToolCallView) => void | Promise<void>) | undefined;
  /** The approval has ended: `call.approval.state` says how. */
  readonly onDecided?: ((call: ToolCallView) => void | Promise<void>) | undefined;
  /** The call has its result. One that was `unknown` may get another later. */
  readonly onResult?: ((result: ToolResult) => void | Promise<void>) | undefined;
}

/** The notices from the worker to its hooks. */
export interface Notices {
  readonly requested: (call: ToolCallView) => void;
  /** A call was read: it may be decided, or have its result. */
  readonly seen: (call: ToolCallView) => void;
  /** A call failed without a request. */
  readonly refused: (runId: string, result: ToolResult) => void;
}

/** The facts that are remembered, so that none is told twice. */
const toldMax = 10_000;

export function createNotices(hooks: WorkerHooks, log: WorkerLog): Notices {
  const told = new Set<string>();
  const tell = <T>(name: keyof WorkerHooks, key: string, hook: Hook<T> | undefined, fact: T): void => {
    const fullKey = `${name} ${key}`;
    if (hook === undefined || told.has(fullKey)) return;
    told.add(fullKey);
    for (const oldest of told) if (told.size > toldMax) told.delete(oldest);
    // Inside an async function, so that a throw and a rejection are one.
    void (async () => hook(structuredClone(fact)))().catch((error: unknown) => {
      log.error({ hook: name, error: messageOf(error) }, 'a hook failed');
    });
  };
  return {
    requested: (call) => {
      tell('onRequested', call.callId, hooks.onRequested, call);
    },
    seen: (call) => {
      const { callId, state, approval } = call;
      if (approval !== null && approval.state !== 'pending')
        tell('onDecided', approval.approvalId, hooks.onDecided, call);
      const result = resultOf(call);
      const key = `${callId} ${state} ${String(approval?.round)}`;
      if (result !== undefined) tell('onResult', key, hooks.onResult, result);
    },
    refused: (runId, result) => {
      tell('onResult', JSON.stringify([runId, result.toolCallId]), hooks.onResult, result);
    },
  };
}

type Hook<T> = (fact: T) => void | Promise<void>;
