import type { EventView, LogEventView, ToolCallView } from '@countersign/contracts';
import { localError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import { storyLines } from '../view/call-story.js';

/** The options of `countersign audit show`. */
export interface AuditShowOptions {
  readonly asOf?: string;
  readonly values?: 'masked' | 'clear';
}

/** A call up to a moment, by its stream in the log. */
interface CallAt {
  readonly callId: string;
  readonly events: readonly LogEventView[];
  readonly toolCall: ToolCallView | null;
}

/** `countersign audit show`: prints a call as its stream in the log tells it, up to a moment. */
export async function auditShow(
  invocation: Invocation,
  callId: string,
  { asOf, values }: AuditShowOptions,
): Promise<ExitCode> {
  const { client, columns } = invocation;
  const query = new URLSearchParams({ ...(asOf !== undefined && { asOf }), ...(values !== undefined && { values }) });
  const path = `/v1/audit/tool-calls/${encodeURIComponent(callId)}/events?${query.toString()}`;
  const { toolCall, events } = await client.get<CallAt>(path);
  if (toolCall === null) {
    const when = asOf === undefined ? '' : ` up to ${asOf}`;
    throw localError('notFound', 'not-recorded', `Nothing that can be read was recorded of the call${when}.`);
  }
  const readable = events.filter((event): event is EventView => event.data !== null);
  invocation.printJson({ asOf: asOf ?? null, call: toolCall, events });
  if (asOf !== undefined) invocation.print({ text: `As of ${asOf}:`, tone: 'dim' });
  const nowMs = asOf === undefined ? client.serverNow() : Date.parse(asOf);
  invocation.print(...storyLines(toolCall, readable, { columns, nowMs }));
  return exitCodes.ok;
}
