import type { ApprovalView, JsonValue, ToolCallView } from '@countersign/contracts';
import {
  CountersignError,
  createClient,
  createWorker,
  type CallEnd,
  type GateMode,
  type GateTool,
  type TransportOptions,
} from '@countersign/worker-sdk';
import type { Catalog } from './catalog.js';
import { gatedToolOf, readCall } from './gated-tool.js';
import type { InnerRequests } from './inner-requests.js';
import { createInnerRun, LostRunError, type InnerRun } from './inner-run.js';
import { failureReply, finalReply, pendingReply, refusal } from './replies.js';
import { createSameCalls, type SameCalls } from './same-calls.js';
import type { UngatedTools } from './ungated.js';
import type { Reply } from './wire.js';

/** The ledger, and how the gate behaves. */
export interface GateOptions extends TransportOptions {
  /** A token with role agent. */
  readonly token: string;
  /** A token with role resolver. */
  readonly resolverToken: string;
  readonly agentId: string;
  /** Where people open the inbox, when it is not `url`. */
  readonly inboxUrl?: string | undefined;
  readonly runId: string;
  /** The run may have calls of an earlier process. */
  readonly continuesRun: boolean;
  /** `writes`: every tool that is not annotated as read-only. */
  readonly gate: GateMode;
  readonly ungated: UngatedTools;
  /** How long a request is held while people decide, in ms. */
  readonly holdMs: number;
  readonly leaseMs?: number | undefined;
}

/** A `tools/call` of the client. */
export interface ClientCall {
  readonly params: Readonly<Record<string, unknown>>;
  /** Aborts when the client has cancelled the request. */
  readonly signal: AbortSignal;
  /** The client opens addresses for its user (URL elicitation). */
  readonly opensUrls: boolean;
  /** Called from time to time while people decide. */
  readonly onWaiting: (approvalId: string) => void;
  /** Called when the client is sent to the card of an approval. */
  readonly onCard: (approval: ApprovalView) => void;
  /** For the policy and the approvers. */
  readonly labels: Readonly<Record<string, string>>;
}

/** Puts calls behind approval. Never rejects: every failure is a reply. */
export type AnswerCall = (call: ClientCall) => Promise<Reply>;

/** After a cancellation a server has this long to respond nevertheless; then the outcome is unknown. */
const cancelGraceMs = 10_000;
const progressEveryMs = 5_000;
/** A client does not wait long for a server that is away. */
const attempts = 3;

export function createAnswerCall(options: GateOptions, catalog: Catalog, requests: InnerRequests): AnswerCall {
  const same = createSameCalls();
  const remember = createRemember(options, same);

  return async (call) => {
    // Tasks are not offered here, so the request is processed as if it asked for none.
    const { task: _, ...params } = call.params;
    const run = createInnerRun((args) => requests.send('tools/call', { ...params, arguments: args }), call.signal);
    try {
      const { name, args, givenId } = readCall(call.params);
      const listed = await catalog.find(name);
      const tool = gatedToolOf(listed, options.gate, call.labels, run.execute);
      const checked = await tool.check(args);
      await remember();
      const known = same.find(name, checked.valid ? checked.arguments : args, givenId);
      known.attached += 1;
      try {
        const end = await endOf(options, { tool, args, toolCallId: known.toolCallId }, call, run);
        if (end.approval !== null) return pendingReplyTo(call, end.approval, options);
        if (end.result === null) return refusal('The call has no result yet. Call again with the same arguments.');
        known.told = end.result.status !== 'unknown' && !call.signal.aborted;
        return finalReply(end.result, listed, run.reply());
      } finally {
        known.attached -= 1;
      }
    } catch (error) {
      return failureReply(error, run.reply());
    }
  };
}

function pendingReplyTo({ opensUrls, onCard }: ClientCall, approval: ApprovalView, options: GateOptions): Reply {
  if (opensUrls) onCard(approval);
  return pendingReply(approval, options.inboxUrl ?? options.url, opensUrls);
}

/** Reads the calls of the run once, before the first call, when an earlier process may have recorded some. */
function createRemember(options: GateOptions, same: SameCalls): () => Promise<void> {
  let remembered: Promise<void> | undefined;
  return async () => {
    if (!options.continuesRun) return;
    remembered ??= callsOfRun(options).then(same.remember);
    try {
      await remembered;
    } catch (error) {
      remembered = undefined;
      throw error;
    }
  };
}

async function callsOfRun(options: GateOptions): Promise<readonly ToolCallView[]> {
  try {
    return (await createClient({ ...options, attempts }).getRun(options.runId)).calls;
  } catch (error) {
    if (error instanceof CountersignError && error.code === 'not-found') return [];
    throw error;
  }
}

interface Asked {
  readonly tool: GateTool;
  readonly args: JsonValue;
  readonly toolCallId: string;
}

/** A worker per call: when the connection is lost, this call alone is given up. */
async function endOf(
  options: GateOptions,
  { tool, args, toolCallId }: Asked,
  { signal, onWaiting }: ClientCall,
  run: InnerRun,
): Promise<CallEnd> {
  const worker = createWorker({ ...options, tools: [tool], attempts });
  const call = { runId: options.runId, toolCallId, toolName: tool.name, arguments: args };
  const held = async (): Promise<CallEnd> => {
    const first = await worker.call(call, { signal });
    if (first.approval === null || options.holdMs === 0) return first;
    const { approvalId } = first.approval;
    const tellWaiting = (): void => {
      onWaiting(approvalId);
    };
    tellWaiting();
    const telling = setInterval(tellWaiting, progressEveryMs);
    try {
      return await worker.call(call, { signal, timeoutMs: options.holdMs });
    } finally {
      clearInterval(telling);
    }
  };
  let graceMs = cancelGraceMs;
  try {
    return await Promise.race([held(), run.lost]);
  } catch (error) {
    if (error instanceof LostRunError) graceMs = 0;
    throw error;
  } finally {
    void worker.close(graceMs);
  }
}
