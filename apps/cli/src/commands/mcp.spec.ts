import { expect, it } from '@jest/globals';
import { createServer, type AddressInfo } from 'node:net';
import { runCli } from '../program.js';
import { createFakeTerminal, until } from '../testing/fake-terminal.js';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const initialize = {
  ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'spec', version: '1' } },
};

it('tells a client over HTTP what to do about a server that cannot be started', async () => {
  const port = String(await freePort());
  const env = { COUNTERSIGN_URL: 'http://127.0.0.1:1', COUNTERSIGN_TOKEN: 'token' };
  const terminal = createFakeTerminal({ env });
  const ended = runCli(['mcp', '--listen', port, '--', 'no-such-server'], terminal);
  await until(() => terminal.err().includes('The gate listens'));
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const body = JSON.stringify(initialize);
  const text = await (await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', headers, body })).text();
  expect(text).toContain('The MCP server did not start: spawn no-such-server ENOENT. Check the command after `--`');
  terminal.interrupt();
  await ended;
});
