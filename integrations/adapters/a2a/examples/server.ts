// A server of A2A over HTTP, with JSON-RPC. With Express, use the handler of the SDK.
import { createServer } from 'node:http';
import { AgentCard } from '@a2a-js/sdk';
import { JsonRpcTransportHandler, ServerCallContext, UnauthenticatedUser } from '@a2a-js/sdk/server';
import { handlerFor } from './executor.ts';

export const card = AgentCard.fromJSON({
  name: 'support',
  description: 'Refunds',
  supportedInterfaces: [{ url: 'http://127.0.0.1:8000', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  capabilities: { streaming: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
});
const handler = new JsonRpcTransportHandler(handlerFor(card));
const context = new ServerCallContext({ user: new UnauthenticatedUser(), requestedVersion: '1.0' });

createServer((request, response) => {
  void (async () => {
    try {
      const body = await new Response(ReadableStream.from(request)).text();
      const reply = await handler.handle(body, context);
      if (!(Symbol.asyncIterator in reply)) {
        response.setHeader('content-type', 'application/json').end(JSON.stringify(reply));
        return;
      }
      response.setHeader('content-type', 'text/event-stream');
      for await (const event of reply) response.write(`data: ${JSON.stringify(event)}\n\n`);
      response.end();
    } catch (error) {
      if (!response.headersSent) response.writeHead(400);
      response.end(String(error));
    }
  })();
}).listen(8000, '127.0.0.1');
