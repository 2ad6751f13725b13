import type { JsonValue } from '@countersign/contracts';
import { createWorker, type CallEnd, type GateTool, type MayClaim, type Worker } from '@countersign/worker-sdk';
import type { ClientCall } from './client-call.js';
import { attempts, type GateOptions } from './gate-options.js';
import { LostRunError, type InnerRun } from './inner-run.js';
import { createReportLimit, ReportOverdueError } from './report-limit.js';

/** A call for the ledger. */
export interface AskedCall {
  readonly tool: GateTool;
  readonly args: JsonValue;
  readonly toolCallId: string;
}

/** Takes calls through the ledger, each to its end. */
export interface CallEnds {
  /** Rejects with a `LostRunError`, a `ReportOverdueError`, or the error of Countersign. */
  readonly endOf: (asked: AskedCall, call: ClientCall, run: InnerRun) => Promise<CallEnd>;
  /** After the connection has ended: a report that Countersign has not taken yet gets 10 s more. */
  readonly close: () => void;
}

/** After a cancellation a server has this long to respond nevertheless; then the outcome is unknown. */
const cancelGraceMs = 10_000;
/** A report goes on for this time after the client has got the result. The ledger takes it also after the lease. */
const reportMsMax = 3_600_000;
const progressEveryMs = 5_000;

export function createCallEnds(options: GateOptions, mayClaim: MayClaim): CallEnds {
  const { runId, holdMs, reportMs = 5_000 } = options;
  const ending = new Map<Worker, InnerRun>();

  const release = async (worker: Worker, run: InnerRun, graceMs: number): Promise<void> => {
    ending.set(worker, run);
    await worker.close(graceMs).finally(() => ending.delete(worker));
  };
  return {
    // A worker per call: when the connection is lost, this call alone is given up.
    endOf: async ({ tool, args, toolCallId }, call, run) => {
      const worker = createWorker({ ...options, tools: [tool], attempts }, mayClaim);
      const limit = createReportLimit(run.replied, reportMs);
      const asked = { runId, toolCallId, toolName: tool.name, arguments: args };
      let graceMs = cancelGraceMs;
      try {
        return await Promise.race([held(worker, asked, call, holdMs), run.lost, limit.overdue]);
      } catch (error) {
        if (error instanceof LostRunError) graceMs = 0;
        if (error instanceof ReportOverdueError) graceMs = reportMsMax;
        throw error;
      } finally {
        limit.release();
        void release(worker, run, graceMs);
      }
    },
    close: () => {
      // Without a connection a tool that runs cannot respond.
      for (const [worker, run] of ending) {
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
