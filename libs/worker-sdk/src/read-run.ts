import type { RequestToolCalls, ToolCallView } from '@countersign/contracts';
import type { Client } from './client.js';
import { isRefusal } from './errors.js';
import { isSameJson } from './schema.js';
import type { RunState } from './state.js';
import type { CallOptions } from './transport.js';

/** All calls of a run, also when they are too large for one response. */
export async function callsOfRun(
  client: Client,
  runId: string,
  options: CallOptions = {},
): Promise<readonly ToolCallView[]> {
  return (
    (await runInOne(client, runId, options)) ?? collect(client.eachToolCall({ ...options, runId, order: 'oldest' }))
  );
}

/** The calls of a state, and others of its run. */
export async function callsOfState(
  client: Client,
  { runId, calls }: RunState,
  options: CallOptions,
): Promise<readonly ToolCallView[]> {
  const all = await runInOne(client, runId, options);
  if (all !== undefined) return all;
  const ids = calls.flatMap(({ callId }) => callId ?? []);
  return Promise.all(ids.map((callId) => client.getToolCall(callId, options)));
}

/** The recorded calls of a request that differ from it in nothing but the schema of their tools; undefined: not all do. */
export async function sameCallsOf(
  client: Client,
  { runId, agentId, calls }: RequestToolCalls,
  options: CallOptions,
): Promise<readonly ToolCallView[] | undefined> {
  const recorded = await callsOfRun(client, runId, options);
  const same = calls.map(({ toolCallId, toolName, arguments: args }) =>
    recorded.find(
      (view) =>
        view.toolCallId === toolCallId &&
        view.toolName === toolName &&
        view.agentId === agentId &&
        isSameJson(view.originalArguments ?? view.arguments, args),
    ),
  );
  return same.every((view) => view !== undefined) ? same : undefined;
}

/** Undefined: the calls are too large for one response. */
async function runInOne(
  client: Client,
  runId: string,
  options: CallOptions,
): Promise<readonly ToolCallView[] | undefined> {
  try {
    return (await client.getRun(runId, options)).calls;
  } catch (error) {
    if (isRefusal(error, 'payload-too-large')) return undefined;
    throw error;
  }
}

async function collect(views: AsyncIterable<ToolCallView>): Promise<ToolCallView[]> {
  const all: ToolCallView[] = [];
  for await (const view of views) all.push(view);
  return all;
}
