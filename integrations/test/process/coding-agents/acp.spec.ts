import { beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { client, methods, ndJsonStream, PROTOCOL_VERSION, type ClientConnection } from '@agentclientprotocol/sdk';
import { createClient, type ApprovalView, type Client } from '@countersign/worker-sdk';
import { cleanUpAfterAll, onCleanup } from '../../../../test/process/harness/cleanup.js';
import { install, type Installation } from '../../../../test/process/harness/standalone.js';
import { eventually } from '../../../../test/process/harness/wait.js';
import { environmentOf } from './configurations.js';

cleanUpAfterAll();

let place: Installation;
let ledger: Client;
let ran: string;
beforeAll(async () => {
  place = await install();
  ledger = createClient({ url: `http://127.0.0.1:${place.port}`, token: place.tokens.me });
  ran = join(place.folder, 'ran.txt');
});

interface Editor {
  readonly prompt: (command: string) => Promise<string>;
  readonly connection: ClientConnection;
  readonly sessionId: string;
  readonly updates: unknown[];
  /** How often the agent asked the editor itself for permission. */
  readonly asked: () => number;
}

/** An editor on the client side of the SDK, which starts the agent behind the bridge. */
async function openEditor(name: string): Promise<Editor> {
  const agent = join(import.meta.dirname, 'acp-agent.mjs');
  const env = environmentOf(place.port, place.dataFolder);
  const args = ['acp', '--', process.execPath, agent, name, ran];
  const bridge = spawn('countersign', args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const closed = new Promise((resolve) => bridge.once('close', resolve));
  onCleanup(async () => {
    bridge.stdin.end();
    await closed;
  });
  const updates: unknown[] = [];
  let asked = 0;
  const connection = client({ name: 'editor' })
    .onNotification(methods.client.session.update, ({ params }) => void updates.push(params.update))
    .onRequest(methods.client.session.requestPermission, () => {
      asked += 1;
      return { outcome: { outcome: 'cancelled' } };
    })
    .connect(ndJsonStream(Writable.toWeb(bridge.stdin), Readable.toWeb(bridge.stdout) as ReadableStream<Uint8Array>));
  await connection.agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: {},
  });
  const { sessionId } = await connection.agent.request(methods.agent.session.new, { cwd: '/', mcpServers: [] });
  const prompt = async (command: string): Promise<string> => {
    const { stopReason } = await connection.agent.request(methods.agent.session.prompt, {
      sessionId,
      prompt: [{ type: 'text', text: command }],
    });
    return stopReason;
  };
  return { prompt, connection, sessionId, updates, asked: () => asked };
}

const pendingOf = (runId: string): Promise<ApprovalView> =>
  eventually(`a pending approval of ${runId}`, async () => {
    const { approvals } = await ledger.listApprovals({ state: 'pending', runId });
    return approvals[0];
  });

describe('countersign acp between an editor and an agent', () => {
  it('lets people decide in place of the editor, and records the result', async () => {
    const editor = await openEditor('first');
    const { sessionId } = editor;
    const prompted = editor.prompt('npm test');
    const { approvalId, proposal, toolName, arguments: args, allowedDecisions } = await pendingOf(sessionId);
    const shown = { title: 'npm test', kind: 'execute', rawInput: { command: 'npm test' }, option: 'Once' };
    expect([toolName, args, allowedDecisions]).toEqual(['execute', shown, ['approve', 'deny']]);
    await ledger.respond(approvalId, {
      decision: { type: 'approve' },
      reason: 'seen',
      proposalDigest: proposal.digest,
    });
    expect(await prompted).toBe('end_turn');
    const text = readFileSync(ran, 'utf8');
    expect(text).toMatch(/^npm test /);
    expect(text).not.toContain('COUNTERSIGN_');
    await eventually('the result', async () => (await ledger.getRun(sessionId)).calls[0]?.state === 'succeeded');

    const denied = editor.prompt('rm -r /');
    const second = await pendingOf(sessionId);
    await ledger.respond(second.approvalId, { decision: { type: 'deny' }, reason: 'no' });
    expect(await denied).toBe('end_turn');
    expect(editor.updates.at(-1)).toMatchObject({ status: 'failed', rawOutput: { option: 'no' } });
    expect([readFileSync(ran, 'utf8'), editor.asked()]).toEqual([text, 0]);
  });

  it('cancels the open call when the editor cancels the session', async () => {
    const editor = await openEditor('second');
    const prompted = editor.prompt('sleep 1');
    await pendingOf(editor.sessionId);
    await editor.connection.agent.notify(methods.agent.session.cancel, { sessionId: editor.sessionId });
    expect(await prompted).toBe('cancelled');
    await eventually('the cancelled call', async () => {
      const { calls } = await ledger.getRun(editor.sessionId);
      return calls[0]?.state === 'cancelled';
    });
  });
});
