import type { RunView, ToolCallView } from '@countersign/contracts';
import { printable } from '@countersign/text';
import { usageError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import type { Line } from '../view/line.js';
import { runLines } from '../view/run-lines.js';

const reasonDefault = 'cancelled from the command line';

/** `countersign cancel`: one call, or all open calls of a run. */
export async function cancel(
  invocation: Invocation,
  callId: string | undefined,
  options: { readonly run?: string; readonly reason?: string },
): Promise<ExitCode> {
  const { client } = invocation;
  if ((callId === undefined) === (options.run === undefined))
    throw usageError('Name either a call or, with --run, a run.');
  const path =
    callId === undefined
      ? `/v1/runs/${encodeURIComponent(options.run ?? '')}`
      : `/v1/tool-calls/${encodeURIComponent(callId)}`;
  const answer = await client.post<CancelAnswer>(`${path}/cancel`, {
    body: { reason: options.reason ?? reasonDefault },
  });
  invocation.printJson(answer);
  if (callId !== undefined) {
    invocation.print({ text: 'The call is cancelled.', tone: 'green' });
    return exitCodes.ok;
  }
  return tellRun(invocation, printable(options.run ?? ''), answer);
}

/** The calls of a run that were cancelled, and the reason for each call that was not. */
function tellRun(invocation: Invocation, run: string, { cancelled = [], notCancelled = [] }: CancelAnswer): ExitCode {
  const left = notCancelled.map(({ callId, detail }) => `${printable(callId)} is not cancelled: ${printable(detail)}`);
  const isAll = left.length === 0;
  const isNone = isAll && cancelled.length === 0;
  const text = isNone ? `Run ${run} has no open call.` : `Cancelled in run ${run}: ${String(cancelled.length)}.`;
  invocation.print({ text, tone: isAll ? 'green' : 'red' }, ...left.map((line): Line => ({ text: line, tone: 'red' })));
  return isAll ? exitCodes.ok : exitCodes.refused;
}

/** The response to cancelling a run. The response for a single call has neither list. */
interface CancelAnswer {
  readonly cancelled?: readonly string[];
  readonly notCancelled?: readonly { readonly callId: string; readonly detail: string }[];
}

/** `countersign reconcile`: a person records the real outcome of a call whose outcome is unknown. */
export async function reconcile(
  invocation: Invocation,
  callId: string,
  options: { readonly status: string; readonly note: string },
): Promise<ExitCode> {
  const { status, note } = options;
  const path = `/v1/tool-calls/${encodeURIComponent(callId)}/reconcile`;
  const call = await invocation.client.post<ToolCallView>(path, { body: { status, note } });
  invocation.printJson(call);
  const then = status === 'retry' ? 'It may be executed again.' : `The call counts as ${printable(status)}.`;
  invocation.print({ text: `Recorded. ${then}`, tone: 'green' });
  return exitCodes.ok;
}

/** `countersign run`: lists the calls of one agent run and what the run waits for. */
export async function run(invocation: Invocation, runId: string): Promise<ExitCode> {
  const { client, columns } = invocation;
  const view = await client.get<RunView>(`/v1/runs/${encodeURIComponent(runId)}`);
  invocation.printJson(view);
  invocation.print(...runLines(view, { columns, nowMs: client.serverNow() }));
  return exitCodes.ok;
}
