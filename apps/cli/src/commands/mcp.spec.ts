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

const env = { COUNTERSIGN_URL: 'http://127.0.0.1:1', COUNTERSIGN_TOKEN: 'token' };

it('names a server that ends by itself on stderr, and fails', async () => {
  const terminal = createFakeTerminal({ env });
  expect(await runCli(['mcp', '--', process.execPath, '-e', 'process.exit(3)'], terminal)).toBe(1);
  expect(terminal.err()).toMatch(/The MCP server has ended\. Check the command after `--`/);
});

it('names a message of the client that is too large, and fails', async () => {
  const terminal = createFakeTerminal({ env });
  const ended = runCli(['mcp', '--', process.execPath, '-e', 'process.stdin.resume()'], terminal);
  await new Promise((resolve) => setTimeout(resolve, 500));
  terminal.type('x'.repeat(11 * 1024 * 1024));
  expect(await ended).toBe(1);
  const words = terminal.err().replaceAll(/\s+/g, ' ');
  expect(words).toContain(
    'connection to the MCP client ended: a message of the MCP client has more than 10485760 bytes.',
  );
});

it('succeeds without a word when the client ends', async () => {
  const terminal = createFakeTerminal({ env, input: '' });
  expect(await runCli(['mcp', '--', process.execPath, '-e', 'process.stdin.resume()'], terminal)).toBe(0);
  expect(terminal.err()).toBe('');
});
