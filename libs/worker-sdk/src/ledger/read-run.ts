import { isSettled, placeLabelsOf } from '@countersign/contracts';
import type { JsonObject, RequestedCall, RequestToolCalls, ToolCallView } from '@countersign/contracts';
import type { Client } from './client.js';
import { isRefusal } from '../errors.js';
import { isJsonObject, isSameJson } from '../tools/schema.js';
import type { RunState } from '../state.js';
import type { ProposedCall } from '../tools/tool-definition.js';
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

/**
 * The recorded calls of a request; undefined: not all are recorded with these arguments, or one of several differs in more than
 * the schema or the definition of its tool.
 */
export async function sameCallsOf(
  client: Client,
  { runId, agentId, batchMode, calls }: RequestToolCalls,
  options: CallOptions,
): Promise<readonly ToolCallView[] | undefined> {
  const recorded = await callsOfRun(client, runId, options);
  const same = calls.map((call) =>
    recorded.find(
      (view) =>
        view.toolCallId === call.toolCallId &&
        view.toolName === call.toolName &&
        view.agentId === agentId &&
        isSameJson(requestedArguments(view), call.arguments) &&
        (batchMode !== 'all-or-nothing' || calls.length === 1 || mayGoOn(view, call)),
    ),
  );
  return same.every((view) => view !== undefined) ? same : undefined;
}

/** In an all-or-nothing batch the server judges no call alone, and a record says nothing about the place of an allowed call. */
function mayGoOn({ approval, state }: ToolCallView, { deny, needsApproval, labels = {} }: RequestedCall): boolean {
  if (isSettled(state)) return true;
  if (deny !== undefined || (needsApproval === true && approval === null)) return false;
  return isSameJson(placeOf(approval?.labels ?? {}), placeOf(labels));
}

/** Another definition of the tool is refused at the claim. */
function placeOf(labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { mcpDefinition, ...place } = placeLabelsOf(labels);
  return place;
}

/**
 * Returns a function that finds the record of a call whose tool may have had another schema since. It reads the run once, and
 * only if it is called.
 */
export function findInRun(
  client: Client,
  { runId, agentId }: { readonly runId: string; readonly agentId: string },
  options: CallOptions,
): (call: ProposedCall) => Promise<ToolCallView | undefined> {
  let recorded: Promise<readonly ToolCallView[]> | undefined;
  return async ({ toolCallId, toolName, arguments: args, rawArguments = args }) => {
    recorded ??= callsOfRun(client, runId, options).catch((error: unknown) => {
      if (isRefusal(error, 'not-found')) return [];
      throw error;
    });
    return (await recorded).find(
      (view) =>
        view.toolCallId === toolCallId &&
        view.toolName === toolName &&
        view.agentId === agentId &&
        includes(requestedArguments(view), rawArguments),
    );
  };
}

/** The arguments of a call before an edit. */
export function requestedArguments({ originalArguments, arguments: args }: ToolCallView): JsonObject {
  return originalArguments ?? args;
}

/**
 * Returns whether a schema can have made the one value of the other: it fills in defaults, and a framework removes members
 * that are null.
 */
function includes(whole: unknown, part: unknown): boolean {
  if (Array.isArray(whole) && Array.isArray(part))
    return whole.length === part.length && whole.every((item, index) => includes(item, part[index]));
  if (!isJsonObject(whole) || !isJsonObject(part)) return isSameJson(whole, part);
  return Object.entries(part).every(([key, value]) =>
    Object.hasOwn(whole, key) ? includes(whole[key], value) : value === null,
  );
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
