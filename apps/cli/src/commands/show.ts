import type { EventView, LogEventView, ToolCallView } from '@countersign/contracts';
import { CliError } from '../cli-error.js';
import { deliveriesOfCall, deliveryTypes } from '../connection/deliveries-of-call.js';
import { followEvents } from '../connection/event-stream.js';
import type { LedgerClient } from '../connection/ledger-client.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import { storyLines } from '../view/call-story.js';
import { auditShow } from './audit-show.js';

/** The options of `countersign show`. */
export interface ShowOptions {
  /** The call as it was then, for auditors. */
  readonly asOf?: string;
  readonly values?: 'masked' | 'clear';
}

const catchUpMsMax = 10_000;

/**
 * `countersign show`: prints the history and the state of one call. Takes the id of the call or of one of its
 * approvals.
 */
export async function show(invocation: Invocation, id: string, options: ShowOptions = {}): Promise<ExitCode> {
  const { client, columns, terminal } = invocation;
  const { values, asOf } = options;
  const callId = callOfApproval(id) ?? id;
  if (asOf !== undefined) return auditShow(invocation, callId, options);
  const query = values === undefined ? '' : `?values=${values}`;
  const call = await client.get<ToolCallView>(`/v1/tool-calls/${encodeURIComponent(callId)}${query}`);
  const own = (await auditedEvents(client, call, query)) ?? (await followedEvents(client, call, terminal.interrupted));
  const deliveries = await deliveriesOfCall(client, call.callId, terminal.interrupted);
  const events = [...own, ...deliveries].sort((a, b) => a.position - b.position);
  invocation.printJson({ call, events });
  invocation.print(...storyLines(call, events, { columns, nowMs: client.serverNow() }));
  return exitCodes.ok;
}

/** An approvalId contains the id of its call, so a caller who may not read approvals still finds the call. */
function callOfApproval(id: string): string | undefined {
  const suffix = /^apr_([a-z2-7]+)_\d+$/.exec(id)?.[1];
  return suffix === undefined ? undefined : `tc_${suffix}`;
}

/** The events as auditors read them; undefined when the token is no auditor's. */
async function auditedEvents(
  client: LedgerClient,
  call: ToolCallView,
  query: string,
): Promise<readonly EventView[] | undefined> {
  try {
    const path = `/v1/audit/tool-calls/${encodeURIComponent(call.callId)}/events${query}`;
    const { events } = await client.get<{ readonly events: readonly LogEventView[] }>(path);
    return events.filter((event): event is EventView => event.data !== null);
  } catch (error) {
    if (error instanceof CliError && error.problem.status === 403) return undefined;
    throw error;
  }
}

/**
 * The events of the call's own stream as everybody of the tenant reads them, with masked values; complete when the call's
 * revision is reached. The revision of a message counts in another stream.
 */
async function followedEvents(
  client: LedgerClient,
  call: ToolCallView,
  interrupted: AbortSignal,
): Promise<EventView[]> {
  const signal = AbortSignal.any([interrupted, AbortSignal.timeout(catchUpMsMax)]);
  const events: EventView[] = [];
  for await (const event of followEvents(client, { after: 0, callId: call.callId, signal })) {
    // The card says that the call has an event that cannot be read.
    if (event.data === null) break;
    if (deliveryTypes.includes(event.type)) continue;
    events.push({ ...event, data: event.data } as EventView);
    if (event.revision >= call.revision) break;
  }
  return events;
}
