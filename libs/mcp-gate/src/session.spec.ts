import { expect, it } from '@jest/globals';
import { createSession } from './session.js';

it('has a whole text as the name of a server, also when it is cut inside a character', () => {
  const session = createSession({});
  session.fromClient({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} });
  const serverInfo = { name: `${'x'.repeat(255)}😀`, version: '1' };
  session.fromServer({ jsonrpc: '2.0', id: 1, result: { serverInfo } });
  expect(session.labels()).toEqual({ mcpServer: `${'x'.repeat(255)}\ufffd` });
});
