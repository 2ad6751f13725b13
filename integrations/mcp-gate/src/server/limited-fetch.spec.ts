import { afterEach, expect, it, jest } from '@jest/globals';
import { createLimitedFetch } from './limited-fetch.js';
import { createRemoteRequests } from './remote-requests.js';

afterEach(() => {
  jest.restoreAllMocks();
});

/** The failure of `fetch` when its own limit is over, with the code in its cause. */
const failure = (code: string) =>
  new TypeError('fetch failed', { cause: Object.assign(new Error('Timeout'), { code }) });
const fetchLimited = createLimitedFetch(4096, () => undefined);

it('says that a server without a response was silent, and not that it cannot be reached', async () => {
  jest.spyOn(globalThis, 'fetch').mockRejectedValue(failure('UND_ERR_HEADERS_TIMEOUT'));
  await expect(fetchLimited('http://mcp.test')).rejects.toThrow('the MCP server sent nothing for 5 minutes');
});

it('says that a server without events was silent, and not that it ended its response', async () => {
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      controller.error(failure('UND_ERR_BODY_TIMEOUT'));
    },
  });
  const response = new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  jest.spyOn(globalThis, 'fetch').mockResolvedValue(response);
  const requests = createRemoteRequests(fetchLimited, 1_000);
  const message = { jsonrpc: '2.0' as const, id: 1, method: 'tools/call' };
  const sent = requests.send(message, async () => {
    const { body: events } = await requests.fetch('http://mcp.test', { method: 'POST', body: JSON.stringify(message) });
    await events?.pipeTo(new WritableStream()).catch(() => undefined);
  });
  await expect(sent).rejects.toThrow('the MCP server sent nothing for 5 minutes');
});
