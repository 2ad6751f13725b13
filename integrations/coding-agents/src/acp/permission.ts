import type { JsonObject, JsonValue } from '@countersign/contracts';
import { isSameJson, whyUnrecordable } from '@countersign/worker-sdk';
import type { AgentCall } from '../agent.js';
import { objectIn, textIn } from '../hook-input.js';
import type { SessionFolders } from './session-folders.js';
import { keyOf, merged, type ToldCalls } from './told-calls.js';

/** What the agent has told of its calls, and in which folders it works. */
export interface Told {
  readonly calls: ToldCalls;
  readonly folders: Pick<SessionFolders, 'of'>;
}

type AcpCall = AgentCall & { readonly id: string };

/** A request of the agent for permission to run a tool. */
export interface PermissionRequest {
  readonly id: JsonValue;
  readonly call: AcpCall;
  /** The options that the agent offers. */
  readonly options: JsonValue | undefined;
}

/**
 * Reads a permission request; undefined for any other message. A request often names its call by id alone, and the
 * agent has told the rest before, so that people see all of it.
 */
export function permissionRequest(message: JsonObject, told: Told): PermissionRequest | undefined {
  if (message['method'] !== 'session/request_permission' || message['id'] === undefined) return undefined;
  const params = objectIn(message['params']) ?? {};
  const update = objectIn(params['toolCall']) ?? {};
  const sessionId = textIn(params, 'sessionId') ?? '';
  const id = textIn(update, 'toolCallId') ?? '';
  const key = keyOf(sessionId, id);
  told.calls.set(key, merged(told.calls.get(key), update));
  const { options } = params;
  return { id: message['id'], call: callOf(sessionId, id, options, told), options };
}

/** Returns whether the agent has told other things of the call, or its end, or works in another folder since it asked. */
export function hasChanged({ call, options }: PermissionRequest, told: Told): boolean {
  const { sessionId, id } = call;
  if (!told.calls.has(keyOf(sessionId, id))) return true;
  const now = callOf(sessionId, id, options, told);
  if (now.toolName !== call.toolName || now.cwd !== call.cwd) return true;
  // Arguments that the ledger could not have recorded are others.
  return whyUnrecordable(now.args) !== undefined || !isSameJson(now.args, call.args);
}

function callOf(sessionId: string, id: string, options: JsonValue | undefined, { calls, folders }: Told): AcpCall {
  const toolCall = calls.get(keyOf(sessionId, id)) ?? {};
  return {
    sessionId,
    id,
    toolName: textIn(toolCall, 'name') ?? textIn(toolCall, 'kind') ?? 'other',
    args: argumentsOf(toolCall, options),
    cwd: folders.of(sessionId),
    description: textIn(toolCall, 'title'),
  };
}

/**
 * All that an editor would show before it asks: the call, and the option that stands for an approval. The members always
 * have the same names. The attack: an agent gives the input in another member, and a rule about it does not apply.
 */
function argumentsOf(toolCall: JsonObject, options: JsonValue | undefined): JsonObject {
  const { title, kind, rawInput, content, locations } = toolCall;
  const option = nameOf(options, optionOf(options, 'allow_once'));
  const shown = Object.entries({ title, kind, rawInput, content, locations, option });
  return Object.fromEntries(shown.filter(([, value]) => value !== undefined)) as JsonObject;
}

function nameOf(options: JsonValue | undefined, optionId: string | undefined): JsonValue | undefined {
  return offeredIn(options).find((option) => option['optionId'] === optionId)?.['name'];
}

/**
 * The option of this kind among those that the agent offers. An option that stands for later calls too is never chosen:
 * those would run without the ledger. Attack: an option that denies by the id of one that allows. Two options of one id
 * count as not offered.
 */
export function optionOf(options: JsonValue | undefined, kind: 'allow_once' | 'reject_once'): string | undefined {
  const offered = offeredIn(options);
  const ids = offered.map((option) => textIn(option, 'optionId'));
  const isOnly = (id: string | undefined): boolean => ids.indexOf(id) === ids.lastIndexOf(id);
  return ids.find((id, index) => offered[index]?.['kind'] === kind && isOnly(id));
}

function offeredIn(options: JsonValue | undefined): readonly JsonObject[] {
  if (!Array.isArray(options)) return [];
  return (options as readonly JsonValue[]).map((option) => objectIn(option) ?? {});
}
