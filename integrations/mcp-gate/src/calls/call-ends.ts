import type { JsonValue, ToolCallView } from '@countersign/contracts';
import { sleepOrThrow, systemClock } from '@countersign/contracts/clock';
import { createWorker, type CallEnd, type GateTool, type MayClaim, type Worker } from '@countersign/worker-sdk';
import type { ClientCall } from '../client/client-call.js';
import { attempts, type GateOptions } from './gate-options.js';
import { LostRunError, type InnerRun } from '../server/inner-run.js';
import { createReportLimit, ReportOverdueError } from './report-limit.js';

/** A call for the ledger. */
export interface AskedCall {
  readonly tool: GateTool;
  readonly args: JsonValue;
  readonly toolCallId: string;
  /** Called when the ledger has recorded the call. */
  readonly onRecorded: (call: ToolCallView) => void;
}

/** Takes calls through the ledger, each to its end. */
export interface CallEnds {
  /**
   * Returns neither a result nor an approval when another gate runs the call for longer than the hold. Rejects with a
   * `LostRunError`, a `ReportOverdueError`, or the error of Countersign.
   */
  readonly endOf: (asked: AskedCall, call: ClientCall, run: InnerRun) => Promise<CallEnd>;
  /** After the connection has ended: a report that Countersign has not taken yet gets 10 s more. */
  readonly close: () => void;
}

/** After a cancellation a server has this long to respond nevertheless; then the outcome is unknown. */
const cancelGraceMs = 10_000;
/** A report goes on for this time after the client has got the result. The ledger takes it also after the lease. */
const reportMsMax = 3_600_000;
const progressEveryMs = 5_000;
/** Calls that end sooner cost no request more, also without a hold. */
const lookEveryMs = 1_000;

/** A call on its way through the ledger, until its worker is closed. */
interface OpenCall {
  readonly toolCallId: string;
  readonly run: InnerRun;
}

export function createCallEnds(options: GateOptions, mayClaim: MayClaim): CallEnds {
  const { runId, endpoint, holdMs, reportMs = 5_000 } = options;
  const open = new Map<Worker, OpenCall>();
  const runsHere = (toolCallId: string): boolean =>
    [...open.values()].some((one) => one.toolCallId === toolCallId && one.run.hasBegun());

  return {
    // A worker per call: when the connection is lost, this call alone is given up.
    endOf: async ({ tool, args, toolCallId, onRecorded }, call, run) => {
      const recorded = Promise.withResolvers<string>();
      const onRequested = (recordedCall: ToolCallView): void => {
        onRecorded(recordedCall);
        recorded.resolve(recordedCall.callId);
      };
      const worker = createWorker({ ...options, tools: [tool], hooks: { onRequested }, attempts }, mayClaim);
      open.set(worker, { toolCallId, run });
      const limit = createReportLimit(run.replied, reportMs);
      const ended = new AbortController();
      const elsewhere = recorded.promise.then((callId) =>
        untilElsewhere(worker, callId, { holdMs, runsHere: () => runsHere(toolCallId), signal: ended.signal }),
      );
      const asked = { runId, batchId: endpoint, toolCallId, toolName: tool.name, arguments: args };
      let graceMs = cancelGraceMs;
      try {
        return await Promise.race([held(worker, asked, call, holdMs), run.lost, limit.overdue, elsewhere]);
      } catch (error) {
        if (error instanceof LostRunError) graceMs = 0;
        if (error instanceof ReportOverdueError) graceMs = reportMsMax;
        throw error;
      } finally {
        limit.release();
        ended.abort(new Error('the request has ended'));
        void worker.close(graceMs).finally(() => open.delete(worker));
      }
    },
    close: () => {
      // Without a connection a tool that runs cannot respond.
      for (const [worker, { run }] of open) {
        void worker.close(run.hasBegun() && run.reply() === undefined ? 0 : cancelGraceMs);
      }
    },
  };
}

/** Holds the request while people decide. */
async function held(
  worker: Worker,
  asked: Parameters<Worker['call']>[0],
  { signal, onWaiting }: ClientCall,
  holdMs: number,
): Promise<CallEnd> {
  const first = await worker.call(asked, { signal });
  if (first.approval === null || holdMs === 0) return first;
  const { approvalId } = first.approval;
  const tellWaiting = (): void => {
    onWaiting(approvalId);
  };
  tellWaiting();
  const telling = setInterval(tellWaiting, progressEveryMs);
  try {
    return await worker.call(asked, { signal, timeoutMs: holdMs });
  } finally {
    clearInterval(telling);
  }
}

interface ElsewhereOptions {
  readonly holdMs: number;
  readonly runsHere: () => boolean;
  readonly signal: AbortSignal;
}

/**
 * Resolves when the hold is over and another gate runs the call, for example one that was killed: its end is not waited for.
 * Never resolves when the signal aborts before.
 */
async function untilElsewhere(
  { client }: Worker,
  callId: string,
  { holdMs, runsHere, signal }: ElsewhereOptions,
): Promise<CallEnd> {
  try {
    for (let waitMs = Math.max(holdMs, lookEveryMs); ; waitMs = lookEveryMs) {
      await sleepOrThrow(systemClock, waitMs, signal);
      if (runsHere()) continue;
      // Countersign may be away for a moment.
      const call = await client.getToolCall(callId, { signal }).catch(() => undefined);
      if (call?.state === 'executing' && !runsHere()) return { result: null, approval: null };
    }
  } catch {
    return new Promise<never>(() => undefined);
  }
}
