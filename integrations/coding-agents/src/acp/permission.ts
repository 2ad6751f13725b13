import type { JsonObject, JsonValue } from '@countersign/contracts';
import { isSameJson, whyUnrecordable } from '@countersign/worker-sdk';
import type { AgentCall } from '../agent.js';
import { objectIn, textIn } from '../hook-input.js';
import { keyOf, merged, type ToldCalls } from './told-calls.js';

/** Kinds of tools that change nothing outside of the agent. */
const readOnlyKinds = ['read', 'search', 'think'];

/** A request of the agent for permission to run a tool. */
export interface PermissionRequest {
  readonly id: JsonValue;
  readonly call: AgentCall & { readonly id: string };
  /** The options that the agent offers. */
  readonly options: JsonValue | undefined;
}

/**
 * Reads a permission request; undefined for any other message. A request often names its call by id alone, and the
 * agent has told the rest before, so that people see all of it.
 */
export function permissionRequest(message: JsonObject, told: ToldCalls): PermissionRequest | undefined {
  if (message['method'] !== 'session/request_permission' || message['id'] === undefined) return undefined;
  const params = objectIn(message['params']) ?? {};
  const update = objectIn(params['toolCall']) ?? {};
  const sessionId = textIn(params, 'sessionId') ?? '';
  const id = textIn(update, 'toolCallId') ?? '';
  const key = keyOf(sessionId, id);
  const toolCall = merged(told.get(key), update);
  told.set(key, toolCall);
  const kind = textIn(toolCall, 'kind') ?? 'other';
  const call = {
    sessionId,
    id,
    toolName: textIn(toolCall, 'name') ?? kind,
    args: argumentsOf(toolCall),
    cwd: undefined,
    description: textIn(toolCall, 'title'),
    isReadOnly: readOnlyKinds.includes(kind),
  };
  return { id: message['id'], call, options: params['options'] };
}

/** Returns whether the agent has told other arguments of the call, or its end, since it asked. */
export function hasChanged({ call }: PermissionRequest, told: ToldCalls): boolean {
  const toolCall = told.get(keyOf(call.sessionId, call.id));
  if (toolCall === undefined) return true;
  const now = argumentsOf(toolCall);
  // Arguments that the ledger could not have recorded are others.
  return whyUnrecordable(now) !== undefined || !isSameJson(now, call.args);
}

/** The input of the tool or, where the agent tells none, all that an editor would show of the call. */
function argumentsOf(toolCall: JsonObject): JsonObject {
  const input = objectIn(toolCall['rawInput']);
  if (input !== undefined && Object.keys(input).length > 0) return input;
  const { title = null, rawInput, content, locations } = toolCall;
  const given = Object.entries({ rawInput, content, locations }).filter(([, value]) => value !== undefined);
  return { title, ...(Object.fromEntries(given) as JsonObject) };
}

/**
 * The option of this kind among those that the agent offers. An option that stands for later calls too is never chosen:
 * those would run without the ledger. Attack: an option that denies by the id of one that allows. Two options of one id
 * count as not offered.
 */
export function optionOf(options: JsonValue | undefined, kind: 'allow_once' | 'reject_once'): string | undefined {
  if (!Array.isArray(options)) return undefined;
  const offered = (options as readonly JsonValue[]).map((option) => objectIn(option) ?? {});
  const ids = offered.map((option) => textIn(option, 'optionId'));
  const isOnly = (id: string | undefined): boolean => ids.indexOf(id) === ids.lastIndexOf(id);
  return ids.find((id, index) => offered[index]?.['kind'] === kind && isOnly(id));
}
