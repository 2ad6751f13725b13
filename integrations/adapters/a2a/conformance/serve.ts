// An A2A server over HTTP, for one process. The SDK's own handler needs Express.
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AgentCard } from '@a2a-js/sdk';
import { ClientFactory, type Client } from '@a2a-js/sdk/client';
import {
  DefaultRequestHandler,
  JsonRpcTransportHandler,
  ServerCallContext,
  UnauthenticatedUser,
  type AgentExecutor,
  type TaskStore,
} from '@a2a-js/sdk/server';

/** The user of every request: the server has no authentication. */
export const anonymous = new ServerCallContext({ user: new UnauthenticatedUser(), requestedVersion: '1.0' });

/** Starts a server of the agent, and returns a client that is connected to it. */
export async function connect(executor: AgentExecutor, taskStore: TaskStore): Promise<Client> {
  const handlers: JsonRpcTransportHandler[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const body = (await new Response(ReadableStream.from(request)).json()) as Record<string, unknown>;
      await answer(response, await handlers[0]?.handle(body, anonymous));
    })();
  });
  const card = AgentCard.fromJSON({
    name: 'conformance',
    supportedInterfaces: [{ url: await listening(server), protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
  });
  handlers.push(new JsonRpcTransportHandler(new DefaultRequestHandler(card, taskStore, executor)));
  return new ClientFactory().createFromAgentCard(card);
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}

async function answer(
  response: ServerResponse,
  result: Awaited<ReturnType<JsonRpcTransportHandler['handle']>> | undefined,
): Promise<void> {
  if (result === undefined || !(Symbol.asyncIterator in result)) {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(result));
    return;
  }
  response.setHeader('content-type', 'text/event-stream');
  for await (const event of result) response.write(`data: ${JSON.stringify(event)}\n\n`);
  response.end();
}
