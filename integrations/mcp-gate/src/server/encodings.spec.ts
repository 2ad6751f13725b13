import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { decodersOf, openEncodedServer, refusedEncodings, type EncodedServer } from '@countersign/http-client/testing';
import { remoteServer } from './servers.js';

let server: EncodedServer;

beforeAll(async () => {
  server = await openEncodedServer();
});
afterAll(() => server.close());

const message = { jsonrpc: '2.0' as const, id: 1, method: 'tools/call', params: { name: 'pay' } };
const result = { jsonrpc: '2.0', id: 1, result: {} };
const forms = {
  JSON: { type: 'application/json', body: JSON.stringify(result) },
  'an event stream': { type: 'text/event-stream', body: `data: ${JSON.stringify(result)}\n\n` },
};
const cases = refusedEncodings.flatMap((encodings) =>
  Object.entries(forms).map(([form, of]) => ({ encodings, form, of })),
);

it.each(cases)(
  'an MCP server that sends $form with $encodings is refused without a decoder',
  async ({ encodings, of }) => {
    server.answerWith(encodings, of.body, [`content-type: ${of.type}`]);
    const wire = remoteServer(new URL(server.url), undefined);
    const replies: unknown[] = [];
    wire.onmessage = (reply) => replies.push(reply);
    await wire.start();
    const decoders = await decodersOf(async () => {
      await expect(wire.send(message)).rejects.toThrow(/content-encoding: .*Turn compression off/);
    });
    await wire.close();
    expect([decoders, replies]).toEqual([0, []]);
    expect(server.received.at(-1)).toContain('accept-encoding: identity\r\n');
  },
);
