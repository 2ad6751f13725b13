import type { JsonObject, JsonValue } from '@countersign/contracts';
import { createClient } from '@countersign/worker-sdk';
import type { AgentCall, AgentEnd, Decision } from '../agent.js';
import { decide } from '../decide.js';
import { objectIn, textIn } from '../hook-input.js';
import type { HookOptions } from '../options.js';
import { report } from '../report.js';
import { didNotRun, whyOf } from '../why.js';
import { hasChanged, optionOf, permissionRequest, type PermissionRequest, type Told } from './permission.js';
import { createSessionFolders } from './session-folders.js';
import { hearUpdate, keyOf } from './told-calls.js';

/** The two sides of the bridge: each message is one line of JSON. */
export interface AcpSides {
  readonly toAgent: (line: string) => void;
  readonly toEditor: (line: string) => void;
  /** For the person who operates the editor: reasons that the protocol cannot carry. */
  readonly warn: (text: string) => void;
}

/** A bridge between one editor and one agent that speak the Agent Client Protocol. */
export interface AcpBridge {
  readonly fromAgent: (line: string) => void;
  readonly fromEditor: (line: string) => void;
  /** Cancels the open calls. Resolves when that and the last reports are sent, or their time is over. */
  readonly close: () => Promise<void>;
}

/** How long a report may take, in ms. */
const reportMs = 30_000;
/** How long a cancellation may take after the agent has ended, in ms. */
const lastCancelMs = 5_000;

/**
 * Passes every message on, except requests for permission: those are answered from the ledger, and the editor does not see
 * them. A message is written again from what was read. The attack: a line with two members "method", of which the bridge
 * reads one and the editor the other.
 */
export function openAcpBridge(options: HookOptions, sides: AcpSides): AcpBridge {
  const folders = createSessionFolders();
  const told: Told = { calls: new Map(), folders };
  const allowed = new Map<string, AgentCall>();
  const open = new Map<AbortController, PermissionRequest>();
  const working = new Set<Promise<void>>();
  const marks = new Map<string, string>();

  const track = (work: Promise<void>): void => {
    const done = work
      .catch((error: unknown) => {
        sides.warn(whyOf(error));
      })
      .finally(() => working.delete(done));
    working.add(done);
  };
  const recordEnd = async (end: AgentEnd): Promise<void> => {
    await report({ options, marks, signal: AbortSignal.timeout(reportMs) }, end);
  };
  const reply = (id: JsonValue, outcome: JsonObject): void => {
    sides.toAgent(JSON.stringify({ jsonrpc: '2.0', id, result: { outcome } }));
  };
  const answer = async (request: PermissionRequest): Promise<void> => {
    const { id, call } = request;
    const stop = new AbortController();
    open.set(stop, request);
    const agent = { title: 'ACP', readOnlyTools: [] };
    const decision = await decided(request, () => decide({ agent, options, marks, signal: stop.signal }, call));
    open.delete(stop);
    const obstacle = decision.type === 'allow' ? obstacleTo(request, told, stop.signal) : undefined;
    if (decision.type === 'allow' && obstacle === undefined) {
      allowed.set(keyOf(call.sessionId, call.id), call);
      reply(id, selected(optionOf(request.options, 'allow_once')));
      return;
    }
    if (obstacle !== undefined) track(recordEnd({ call, status: 'failed', result: { ...obstacle } }));
    const reason = decision.type === 'deny' ? decision.reason : obstacle?.message;
    if (reason !== undefined && !stop.signal.aborted) sides.warn(`${call.toolName}: ${reason}`);
    reply(id, stop.signal.aborted ? selected(undefined) : selected(optionOf(request.options, 'reject_once')));
  };
  const hear = (message: JsonObject): void => {
    const end = hearUpdate(message, told.calls);
    const call = end === undefined ? undefined : allowed.get(end.key);
    if (end === undefined || call === undefined) return;
    allowed.delete(end.key);
    track(recordEnd({ call, status: end.status, result: end.result }));
  };
  const cancelCalls = (sessionId: string, reason: string, signal?: AbortSignal): void => {
    for (const [stop, { call }] of open) if (call.sessionId === sessionId) stop.abort();
    const client = createClient(options);
    track(client.cancelRun(sessionId, reason, { signal }).then(() => undefined));
  };
  const openSessions = (): ReadonlySet<string> => new Set([...open.values()].map(({ call }) => call.sessionId));

  return {
    fromAgent: (line) => {
      const message = messageIn(line);
      if (message === undefined) {
        sides.warn('the agent wrote a line that is no message; it is dropped');
        return;
      }
      const request = permissionRequest(message.read, told);
      if (request !== undefined) {
        track(answer(request));
        return;
      }
      folders.fromAgent(message.read);
      hear(message.read);
      sides.toEditor(message.line);
    },
    fromEditor: (line) => {
      const message = messageIn(line);
      if (message === undefined) {
        sides.warn('the editor wrote a line that is no message; it is dropped');
        return;
      }
      // Attack: the editor, or a program that writes into it, allows a call that only people may allow.
      if ([...open.values()].some(({ id }) => isResponseTo(id, message.read))) {
        sides.warn('the editor answered a request for permission that Countersign answers; its answer is dropped');
        return;
      }
      folders.fromEditor(message.read);
      const { method, params } = message.read;
      const sessionId = textIn(objectIn(params) ?? {}, 'sessionId');
      if (method === 'session/cancel' && sessionId !== undefined && openSessions().has(sessionId))
        cancelCalls(sessionId, 'the session was cancelled in the editor');
      sides.toAgent(message.line);
    },
    close: async () => {
      const signal = AbortSignal.timeout(lastCancelMs);
      for (const sessionId of openSessions()) cancelCalls(sessionId, 'the agent has ended', signal);
      await Promise.all(working);
    },
  };
}

/** Why a call that people allowed does not run after all. */
function obstacleTo(
  request: PermissionRequest,
  told: Told,
  { aborted }: AbortSignal,
): { readonly code: string; readonly message: string } | undefined {
  if (aborted) return { code: 'cancelled', message: 'the session was cancelled' };
  if (!hasChanged(request, told)) return undefined;
  return { code: 'digest-mismatch', message: 'the agent changed the call after it asked, so the call does not run' };
}

/** Attack: agents that are not strict take the id "7", "07" or "0x7" for 7. */
function isResponseTo(id: JsonValue, message: JsonObject): boolean {
  const { id: given } = message;
  return ('result' in message || 'error' in message) && (given === id || Number(given) === Number(id));
}

/** Every failure is a denial. */
async function decided(request: PermissionRequest, ask: () => Promise<Decision>): Promise<Decision> {
  if (optionOf(request.options, 'allow_once') === undefined)
    return { type: 'deny', reason: 'the agent offers no option to allow this call once, so it does not run' };
  try {
    return await ask();
  } catch (error) {
    return { type: 'deny', reason: didNotRun(error) };
  }
}

/** Without an option to choose, the protocol has `cancelled`, which runs nothing. */
function selected(optionId: string | undefined): JsonObject {
  return optionId === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId };
}

/** A message as it was read, and the line that is written for it. */
interface Message {
  readonly read: JsonObject;
  readonly line: string;
}

function messageIn(line: string): Message | undefined {
  try {
    const read = objectIn(JSON.parse(line) as JsonValue);
    // A message can be nested too deeply to be written.
    return read && { read, line: JSON.stringify(read) };
  } catch {
    return undefined;
  }
}
