import { jcsDigest, matchesGlob, type RequestedCall, type ToolCallView } from '@countersign/contracts';
import {
  createClient,
  isRefusal,
  modelNote,
  modelText,
  needsPerson,
  pendingText,
  problemOfClaim,
  proveMayClaim,
  resultOf,
  type Client,
} from '@countersign/worker-sdk';
import type { AgentCall, CodingAgent, Decision } from './agent.js';
import { folderOf, placeIdOf, placeLabelsOf } from './folder.js';
import type { Marks } from './marks.js';
import type { HookOptions } from './options.js';
import { attemptMark, findSameCall, hasRun, type KnownCall } from './same-call.js';
import { alreadyAllowed, folderChanged } from './why.js';

/** The longest wait of one request, in ms. */
const pollMs = 50_000;
const descriptionMax = 8000;

/** Parts of one run of the hook. */
export interface HookPorts {
  readonly agent: Pick<CodingAgent, 'title' | 'readOnlyTools' | 'takesEdit'>;
  readonly options: HookOptions;
  readonly marks: Marks;
  readonly signal: AbortSignal;
}

/** Decides about a call of an agent. Rejects when the ledger cannot be asked, or refuses. */
export async function decide(ports: HookPorts, call: AgentCall): Promise<Decision> {
  const { options, marks, signal } = ports;
  if (options.ungated.some((glob) => matchesGlob(glob, call.toolName))) return { type: 'pass' };
  const placed = { ...call, cwd: await folderOf(call, options) };
  const client = createClient(options);
  const known = await findSameCall(client, marks, placed, signal);
  const view = await heldOpen(client, ports, await requested(client, ports, placed, known));
  if (view.state === 'awaiting_approval') return pending(client, ports, view);
  if (view.state === 'approved' || view.state === 'allowed') {
    if ((await folderOf(call, options)) !== placed.cwd) return { type: 'deny', reason: folderChanged };
    return editRefused(ports, call, view) ?? claimed(ports, call, view);
  }
  if (hasRun(view)) return { type: 'deny', reason: alreadyAllowed(view.callId) };
  marks.set(view.callId, '');
  const result = resultOf(view);
  const reason = result === undefined ? `The call is ${view.state} and did not run.` : modelText(result);
  return { type: 'deny', reason };
}

/** Requests the call, also one that is open already: a duplicate adds nothing. */
async function requested(
  client: Client,
  { agent, options, signal }: HookPorts,
  call: AgentCall & { readonly cwd: string },
  { toolCallId, view }: KnownCall,
): Promise<ToolCallView> {
  // An approved one may have other arguments by now.
  if (view !== undefined && view.state !== 'awaiting_approval' && view.state !== 'allowed') return view;
  const requestedCall = { toolCallId, ...requestOf(agent, options, call) };
  const batchId = placeIdOf(call);
  const body = { runId: call.sessionId, agentId: options.agentId, batchId, calls: [requestedCall] };
  if (view === undefined) await proveMayClaim(resolverOf(options), { signal });
  const [recorded] = await client.requestToolCalls(body, { signal });
  if (recorded === undefined) throw new Error('Countersign returned no call');
  return recorded;
}

export function resolverOf(options: HookOptions): Client {
  return createClient({ ...options, token: options.resolverToken });
}

/** The call as it is asked for. */
function requestOf(
  agent: HookPorts['agent'],
  options: HookOptions,
  call: AgentCall & { readonly cwd: string },
): Omit<RequestedCall, 'toolCallId'> {
  const { toolName, args, description = toolName } = call;
  const isBuiltIn = call.server === undefined && agent.readOnlyTools.includes(toolName);
  const isReadOnly = isBuiltIn || options.readOnly.some((glob) => matchesGlob(glob, toolName));
  const { allowedDecisions } = options;
  return {
    toolName,
    arguments: args,
    needsApproval: needsPerson(options.gate, isReadOnly),
    description: cut(`${agent.title}: ${description}`),
    ...(allowedDecisions === undefined ? {} : { allowedDecisions: [...allowedDecisions] }),
    ...(isReadOnly ? { hints: { readOnlyHint: true } } : {}),
    labels: placeLabelsOf(call),
  };
}

/** A text that people read beside the arguments. A mark says that it goes on. */
function cut(text: string): string {
  return text.length > descriptionMax ? `${text.slice(0, descriptionMax - 1).toWellFormed()}…` : text.toWellFormed();
}

/** Waits while people decide, for the time of the hold. */
async function heldOpen(client: Client, { options, signal }: HookPorts, first: ToolCallView): Promise<ToolCallView> {
  const until = performance.now() + options.holdMs;
  let view = first;
  while (view.state === 'awaiting_approval') {
    const waitMs = Math.min(pollMs, Math.ceil(until - performance.now()));
    if (waitMs <= 0) break;
    view = await client.getToolCall(view.callId, { waitMs, until: 'decided', signal });
  }
  return view;
}

async function pending(client: Client, { options, signal }: HookPorts, view: ToolCallView): Promise<Decision> {
  const { approval, runId } = view;
  if (options.defer) {
    // The agent keeps one deferred call of a step alone, so all others are denied.
    const state = ['awaiting_approval'] as const;
    const { calls } = await client.listToolCalls({ runId, state, order: 'oldest', limit: 1, signal });
    if (calls[0]?.callId === view.callId) return { type: 'defer' };
  }
  return {
    type: 'deny',
    reason: approval === null ? 'pending' : pendingText(approval, options.inboxUrl ?? options.url),
  };
}

/** For an edit that the agent cannot take: the model calls again with the approved arguments, which is the same call. */
function editRefused({ agent }: HookPorts, call: AgentCall, view: ToolCallView): Decision | undefined {
  if (jcsDigest(view.arguments) === jcsDigest(call.args)) return undefined;
  if (agent.takesEdit === undefined || agent.takesEdit(call.args, view.arguments)) return undefined;
  const args = JSON.stringify(view.arguments);
  return {
    type: 'deny',
    reason: `An approver changed the arguments, and the tool did not run. Call it again with exactly these: ${args}`,
  };
}

/** The agent runs the tool itself, so the call is claimed before the agent hears that it may. */
async function claimed({ options, marks, signal }: HookPorts, call: AgentCall, view: ToolCallView): Promise<Decision> {
  const resolver = resolverOf(options);
  const { leaseMs, agentId } = options;
  const body = { resolverId: `${agentId.slice(0, 200)}/hook`, leaseMs };
  const claim = await resolver.claim(view.callId, body, { signal }).catch((error: unknown) => {
    if (isRefusal(error, 'already-claimed')) return undefined;
    throw error;
  });
  if (claim === undefined) return { type: 'deny', reason: alreadyAllowed(view.callId) };
  const tool = { name: call.toolName, toolSchemaHash: null };
  const problem = problemOfClaim(claim, view, tool, jcsDigest(call.args));
  if (problem !== undefined) {
    const { attempt } = claim;
    await resolver.reportOutcome(view.callId, { attempt, status: 'failed', error: { ...problem } }, { signal });
    return { type: 'deny', reason: `The call did not run: ${problem.message}.` };
  }
  marks.set(attemptMark(view, call), String(claim.attempt));
  const isEdited = jcsDigest(claim.arguments) !== jcsDigest(call.args);
  const note = noteOf(view);
  return {
    type: 'allow',
    ...(isEdited ? { args: claim.arguments } : {}),
    ...(note === null ? {} : { note }),
  };
}

/** The note for the model about a call that runs: an edit, and the instruction of the approver. */
export function noteOf(view: ToolCallView): string | null {
  const result = resultOf({ ...view, state: 'succeeded', output: null });
  return result === undefined ? null : modelNote(result);
}
