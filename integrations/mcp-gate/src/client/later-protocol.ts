import { ErrorCode, SUPPORTED_PROTOCOL_VERSIONS, type JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';
import { objectOf, type Reply } from '../wire.js';
import type { Handler } from './client-requests.js';
import type { Session } from './session.js';

/** "Unsupported protocol version" of MCP 2026-07-28, from which on each request names its version. */
const unsupportedVersion = -32022;
const versionMember = 'io.modelcontextprotocol/protocolVersion';

/**
 * Returns what refuses a request of a later version of MCP than the gate speaks, or undefined for any other request. Then
 * a client goes back to `initialize`. Passed on, it would let the two sides agree on a version in which the gate's replies
 * cannot be read: the tool would run, and the client would see an error.
 */
export function refuserOfLater(request: JSONRPCRequest, session: Pick<Session, 'hasBegun'>): Handler | undefined {
  const refusal = refusalOf(request, session.hasBegun());
  return refusal === undefined ? undefined : async () => refusal;
}

function refusalOf({ method, params }: JSONRPCRequest, hasBegun: boolean): Reply | undefined {
  if (method === 'server/discover') {
    return { error: { code: ErrorCode.MethodNotFound, message: `Method not found: ${method}. ${spoken}` } };
  }
  const requested = objectOf(objectOf(params)['_meta'])[versionMember];
  if (hasBegun || method === 'initialize' || requested === undefined) return undefined;
  const message = `Unsupported protocol version: ${JSON.stringify(requested)}. ${spoken}`;
  const data = { supported: SUPPORTED_PROTOCOL_VERSIONS, requested };
  return { error: { code: unsupportedVersion, message, data } };
}

const spoken = `Countersign speaks MCP up to ${SUPPORTED_PROTOCOL_VERSIONS[0] ?? ''}: begin with "initialize".`;
