import { ErrorCode, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { approvalMeta } from '../stateless/protocol.js';
import { completed } from '../stateless/stateless-results.js';
import { objectOf } from '../wire.js';

type Members = Readonly<Record<string, unknown>>;

const urlElicitationRequired: number = ErrorCode.UrlElicitationRequired;
/** The members of `_meta` in which the gate speaks to programs begin with it. */
const ownPrefix = 'countersign/';
const ofApproval: readonly string[] = Object.values(approvalMeta);

/**
 * Returns a message of the server without what only the gate says. The attack: the server tells the client, in the members
 * of the gate, that a call waits at an address of its own, or that an approval is decided.
 *
 * @param withApproval the gate speaks the draft extension for approvals. The attack: the server says of a call that ran that
 *   it was denied, and the client calls again.
 */
export function asForeign(message: JSONRPCMessage, withApproval: boolean): JSONRPCMessage {
  if ('result' in message) return { ...message, result: withoutOurs(completed(message.result), withApproval) };
  if ('error' in message) {
    if (message.error.code !== urlElicitationRequired) return message;
    const { elicitations, ...data } = objectOf(message.error.data);
    const list = Array.isArray(elicitations) ? elicitations.map((one: unknown) => asForeignCard(objectOf(one))) : [];
    const error = {
      ...message.error,
      message: saidByServer(message.error.message),
      data: { ...data, elicitations: list },
    };
    return { ...message, error };
  }
  if (message.params === undefined) return message;
  const params = withoutOurs(message.params, withApproval);
  const isOfCards = message.method === 'elicitation/create' && params['mode'] === 'url';
  if (!isOfCards && message.method !== 'notifications/elicitation/complete') return { ...message, params };
  return { ...message, params: asForeignCard(params) };
}

/** Returns a result, or parameters, without the members of `_meta` in which the gate speaks. */
export function withoutOurs<T extends Members>(part: T, withApproval: boolean): T {
  const meta = Object.entries(objectOf(part['_meta']));
  const isOurs = (name: string): boolean => name.startsWith(ownPrefix) || (withApproval && ofApproval.includes(name));
  const theirs = meta.filter(([name]) => !isOurs(name));
  return theirs.length === meta.length ? part : { ...part, _meta: Object.fromEntries(theirs) };
}

/** A card has the id of an approval when it is of the gate, so that of the server gets an id that no approval has. */
function asForeignCard(card: Members): Members {
  const { elicitationId, message } = card;
  return {
    ...card,
    ...(typeof elicitationId === 'string' ? { elicitationId: `mcp-server/${elicitationId}` } : {}),
    ...(typeof message === 'string' ? { message: saidByServer(message) } : {}),
  };
}

/** Returns a text of the server that a person or a model could take for one of the gate. */
export function saidByServer(text: string): string {
  return `The MCP server says: ${text}`;
}
