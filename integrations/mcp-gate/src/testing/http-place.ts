import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { ClientCapabilities } from '@modelcontextprotocol/sdk/types.js';
import type { GateOptions } from '../calls/gate-options.js';
import { openHttpGate, type HttpGate, type HttpGateOptions } from '../http/http.js';
import { freePort } from './free-port.js';

const gates: HttpGate[] = [];
const clients: Client[] = [];

/** For `afterEach`. */
export async function closeHttpPlaces(): Promise<void> {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await Promise.all(gates.splice(0).map((gate) => gate.close()));
}

/** A gate over HTTP before a Countersign in memory. */
export async function openHttpPlace(
  { fetch, ...more }: Partial<GateOptions> & Required<Pick<GateOptions, 'fetch'>>,
  { openServer, ...limits }: Partial<HttpGateOptions> & Pick<HttpGateOptions, 'openServer'>,
): Promise<HttpGate> {
  let runs = 0;
  const optionsOf = async (): Promise<GateOptions> => ({
    ...{ url: 'http://fake.test', token: 't', resolverToken: 't', agentId: 'mcp', endpoint: 'bank', fetch },
    ...{ runId: `run-${String((runs += 1))}`, continuesRun: false, gate: 'writes', holdMs: 0 },
    ungated: { globs: [], readOnly: false },
    ...more,
  });
  const gate = await openHttpGate({ port: await freePort(), openServer, optionsOf, ...limits });
  gates.push(gate);
  return gate;
}

/** A client of the SDK, whose event stream stays open. */
export async function connectTo(
  { url }: HttpGate,
  capabilities: ClientCapabilities = {},
  prepare: (client: Client) => void = () => undefined,
): Promise<{ readonly client: Client; readonly transport: StreamableHTTPClientTransport }> {
  const client = new Client({ name: 'spec', version: '1' }, { capabilities });
  clients.push(client);
  prepare(client);
  const transport = new StreamableHTTPClientTransport(new URL(url));
  await client.connect(transport);
  return { client, transport };
}
