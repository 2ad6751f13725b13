import { expect, test } from '@jest/globals';
import { freePort } from '../ports.js';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';
import { startReadyServer, startServer } from './harness/server.js';
import { readTokens } from './harness/tokens.js';
import { eventually } from './harness/wait.js';
import { replayCrashed } from './traffic/replay-crashed.js';
import { countedTools, moduleToolWithoutApproval } from './traffic/tools.js';

cleanUpAfterEach();

test('a call whose message three processes died with waits among the dead letters, and runs once it is replayed', async () => {
  const folder = temporaryFolder();
  const [port, tools] = [await freePort(), await countedTools(folder)];
  const options = { folder, port, env: { COUNTERSIGN_TOOLS: tools.toolsFile } };
  const dying = { ...options, env: { ...options.env, COUNTERSIGN_CRASH_AT: 'resolver.before-claim:1' } };
  const first = startServer(dying);
  await first.ready();
  const token = readTokens(folder).agent;
  const call = { toolCallId: 'c', toolName: moduleToolWithoutApproval, arguments: { path: 'x' } };
  // It may die before it has answered.
  await first.http
    .send({ method: 'POST', path: '/v1/tool-calls', token, body: { runId: 'run', calls: [call] } })
    .catch(() => undefined);
  await first.exited;
  for (let life = 2; life <= 3; life += 1) await startServer(dying).exited;
  const stuck = await startReadyServer(options);
  await eventually('the message to be parked', async () => {
    const { text } = await stuck.http.send({ method: 'GET', path: '/metrics', token: readTokens(folder).me });
    return /^countersign_messages_parked_total\{.*code="crashed".*\} 1$/m.test(text) ? true : undefined;
  });
  await stuck.stop();
  expect(await replayCrashed(options)).toBe(1);
  expect(tools.executions()).toEqual([]);
  const server = await startReadyServer(options);
  await eventually('the call to run', () => (tools.executions().length > 0 ? true : undefined));
  expect(await server.stop()).toEqual({ code: 0, signal: null });
});
