// Against a real Countersign with a policy of its own: the policy decides without a person.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  dynamicTool,
  generateText,
  isStepCount,
  jsonSchema,
  streamText,
  toUIMessageStream,
  type ModelMessage,
} from 'ai';
import { randomUUID } from 'node:crypto';
import { scriptedModel, type ScriptedCall } from '../conformance/scripted-model.js';
import { ran, tools as conformanceTools } from '../conformance/tools.js';
import { gateTools } from './gate-tools.js';

const policy = `version: 1
rules:
  - id: destructive
    when: has(call.hints.destructiveHint) && call.hints.destructiveHint
    then: { block: Nothing is deleted by an agent }
  - id: small
    match: { tools: [refund] }
    when: args.amount <= 10
    then: allow
`;
const bin = join(import.meta.dirname, '..', '..', '..', '..', 'apps', 'cli', 'bin', 'countersign.js');
const folder = mkdtempSync(join(tmpdir(), 'countersign-ai-sdk-policy-'));
const data = join(folder, 'data');
const user: ModelMessage = { role: 'user', content: 'go' };
const wiped: unknown[] = [];
const { refund } = conformanceTools;
const wipe = dynamicTool({
  inputSchema: jsonSchema({ type: 'object', properties: {}, additionalProperties: false }),
  metadata: { annotations: { readOnlyHint: false, destructiveHint: true } },
  execute: (input) => wiped.push(input),
});

let server: ChildProcess;
let gate: ReturnType<typeof openGate>;

function openGate(url: string) {
  const entries = JSON.parse(readFileSync(join(data, 'tokens.json'), 'utf8')) as Record<string, string>[];
  const tokenOf = (principal: string) => entries.find((entry) => entry['principal'] === principal)?.['token'] ?? '';
  const connection = { url, token: tokenOf('agent'), resolverToken: tokenOf('worker'), agentId: 'agent' };
  return gateTools(connection, { refund, wipe }, { refund: { needsApproval: false }, wipe: { needsApproval: false } });
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

beforeAll(async () => {
  writeFileSync(join(folder, 'policy.yaml'), policy);
  const port = String(await freePort());
  server = spawn(process.execPath, [bin, 'start', 'standalone'], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      COUNTERSIGN_LAUNCHED: '1',
      COUNTERSIGN_DATA: data,
      COUNTERSIGN_PORT: port,
      COUNTERSIGN_POLICY: join(folder, 'policy.yaml'),
      COUNTERSIGN_LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const url = `http://127.0.0.1:${port}`;
  const isReady = () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) {
    if (server.exitCode !== null)
      throw new Error(`Countersign did not start: it ended with ${String(server.exitCode)}`);
    await sleep(50);
  }
  gate = openGate(url);
});
afterAll(async () => {
  await gate.close();
  const ended = once(server, 'close');
  server.kill('SIGKILL');
  await ended;
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  ran.length = 0;
  wiped.length = 0;
});

const wipeCall: ScriptedCall = { toolCallId: 'c1', toolName: 'wipe', arguments: {} };
const refundCall: ScriptedCall = { toolCallId: 'c1', toolName: 'refund', arguments: { amount: 5 } };

/** The approval request of the framework in the messages, if there is one. */
function requestIn(messages: readonly ModelMessage[]) {
  const parts = messages.flatMap(({ role, content }) =>
    role === 'assistant' && typeof content !== 'string' ? content : [],
  );
  return parts.find(({ type }) => type === 'tool-approval-request');
}

describe('a call that the policy blocks by a hint of the tool', () => {
  it('has `isAutomatic`, does not run, and the model is told why', async () => {
    const script = scriptedModel([[wipeCall]]);
    const run = gate.run(randomUUID());
    const options = { model: script.model, ...run, messages: [user], stopWhen: isStepCount(2) };
    const { responseMessages, text } = await generateText(options);
    expect(requestIn(responseMessages)).toMatchObject({ toolCallId: 'c1', isAutomatic: true });
    expect(script.told()['c1']).toMatch(/Nothing is deleted by an agent/);
    expect([text, wiped]).toEqual(['done', []]);
  });

  it('has `isAutomatic` in the UI stream too, and is denied', async () => {
    const { tools, toolApproval } = gate.run(randomUUID());
    const { model } = scriptedModel([[wipeCall]]);
    const { stream } = streamText({ model, tools, toolApproval, messages: [user] });
    const chunks: unknown[] = [];
    for await (const chunk of toUIMessageStream({ stream })) if (chunk.type.startsWith('tool-')) chunks.push(chunk);
    expect(chunks).toMatchObject([
      { type: 'tool-input-available', toolCallId: 'c1' },
      { type: 'tool-approval-request', toolCallId: 'c1', isAutomatic: true },
      { type: 'tool-approval-response', approved: false },
      { type: 'tool-output-denied', toolCallId: 'c1' },
    ]);
    expect(wiped).toEqual([]);
  });
});

describe('a call that the policy allows', () => {
  it('runs without an approval part', async () => {
    const script = scriptedModel([[refundCall]]);
    const run = gate.run(randomUUID());
    const options = { model: script.model, ...run, messages: [user], stopWhen: isStepCount(2) };
    const { responseMessages } = await generateText(options);
    expect(requestIn(responseMessages)).toBeUndefined();
    expect(ran).toEqual([5]);
  });
});
