import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { isObject, objectOf, type Reply } from '../wire.js';
import { passedExtensions, statelessVersion } from './protocol.js';
import type { RequestFacts } from './request-facts.js';
import type { ServerFacts } from './stateless-results.js';

type Members = Readonly<Record<string, unknown>>;

/** The session of stateless clients with their server. */
export interface Beginning {
  /** Returns the facts about the server, or the error with which it refused the client. */
  readonly by: (facts: RequestFacts) => Promise<ServerFacts | Extract<Reply, { error: unknown }>>;
}

/** The session begins with the first request, and again after an error. */
export function createBeginning(
  request: (method: string, params: Members) => Promise<Reply>,
  toServer: (message: JSONRPCMessage) => void,
): Beginning {
  let begun: ReturnType<Beginning['by']> | undefined;
  const begin: Beginning['by'] = async ({ capabilities, clientInfo }) => {
    const reply = await request('initialize', {
      protocolVersion: statelessVersion,
      capabilities: passedCapabilities(capabilities),
      clientInfo: clientInfo ?? { name: 'unknown', version: '0' },
    });
    if ('error' in reply) {
      begun = undefined;
      return reply;
    }
    toServer({ jsonrpc: '2.0', method: 'notifications/initialized' });
    const { capabilities: ofServer, serverInfo, instructions } = reply.result;
    return { capabilities: objectOf(ofServer), serverInfo, instructions };
  };
  return { by: (facts) => (begun ??= begin(facts)) };
}

/** The capabilities for which the gate translates the messages. */
export function passedCapabilities({ elicitation, sampling, roots, extensions }: Members): Record<string, unknown> {
  const known = Object.entries({ elicitation, sampling, roots }).filter(([, value]) => isObject(value));
  return withPassedExtensions({ ...Object.fromEntries(known), extensions });
}

/** Returns capabilities with the extensions that the gate passes on, and no others. */
export function withPassedExtensions({ extensions, ...others }: Members): Record<string, unknown> {
  const passed = Object.entries(objectOf(extensions)).filter(([name]) => passedExtensions.includes(name));
  return { ...others, ...(passed.length === 0 ? {} : { extensions: Object.fromEntries(passed) }) };
}
