import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';
import { install } from './harness/standalone.js';

cleanUpAfterEach();

test('an error that escapes from a library is logged with its cause, and ends the process after the answers in flight', async () => {
  const folder = temporaryFolder();
  writeFileSync(
    join(folder, 'escaping.mjs'),
    `export default { execute: () => {
      void Promise.reject(new Error('the channel was shut down', { cause: new Error('the leader is frozen') }));
      return new Promise(() => undefined);
    } };`,
  );
  const tools = join(folder, 'tools.yaml');
  writeFileSync(tools, 'tools: [{ name: escape, needsApproval: false, module: ./escaping.mjs }]');
  const { http, tokens, server } = await install({ COUNTERSIGN_TOOLS: tools });
  const body = { runId: 'run', calls: [{ toolCallId: 'call-1', toolName: 'escape', arguments: {} }] };
  const asked = await http.send({ method: 'POST', path: '/v1/tool-calls', token: tokens.agent, body });
  expect(asked.status).toBe(201);
  expect(await server().exited).toEqual({ code: 1, signal: null });
  const lines = server().output().split('\n').filter(Boolean);
  const logged = lines.find((line) => line.includes('an error escaped from a library')) ?? '';
  expect(JSON.parse(logged)).toMatchObject({ level: 'error', escaped: 1 });
  expect(logged).toContain('the leader is frozen');
  // No bare stack trace: every line is one of JSON.
  const messages = lines.map((line) => (JSON.parse(line) as { readonly message: string }).message);
  expect(messages).toContain('countersign: ends, to be started again: the channel was shut down');
});
