import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ToolCallView } from '@countersign/contracts';
import { cleanUpAfterEach, onCleanup, temporaryFolder } from '../../harness/cleanup.js';
import { eventually } from '../../harness/wait.js';
import { openReachCluster } from './reach-cluster.js';

cleanUpAfterEach();

/** The server of a tool, and the receipts that it got. */
async function openTool(): Promise<{ readonly url: string; readonly receipts: () => readonly string[] }> {
  const receipts: string[] = [];
  const server = createServer((request, response) => {
    receipts.push(String(request.headers['countersign-receipt']));
    request.resume();
    response.setHeader('content-type', 'application/json').end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onCleanup(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  return { url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/pay`, receipts: () => receipts };
}

function claimsOf(receipt: string): { readonly sub: string; readonly seq: unknown } {
  const [, payload = ''] = receipt.split('.');
  return JSON.parse(Buffer.from(payload, 'base64url').toString()) as ReturnType<typeof claimsOf>;
}

function settingsOf(url: string): Readonly<Record<string, string>> {
  const folder = temporaryFolder();
  const [key, tools] = [join(folder, 'receipts.pem'), join(folder, 'tools.json')];
  const { privateKey } = generateKeyPairSync('ed25519');
  writeFileSync(key, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  writeFileSync(tools, JSON.stringify({ tools: [{ name: 'pay', http: { url, allowPrivateNetwork: true } }] }));
  return {
    COUNTERSIGN_TOOLS: tools,
    COUNTERSIGN_RECEIPT_KEY_FILE: key,
    COUNTERSIGN_PUBLIC_URL: 'https://countersign.example',
  };
}

test('the receipts of the role resolver tell the place of each call in its run', async () => {
  const tool = await openTool();
  const cluster = await openReachCluster({ env: {} }, { partitions: 1, more: settingsOf(tool.url) });
  const roles = await Promise.all(['gateway', 'relay', 'resolver'].map((role) => cluster.start(role)));
  await Promise.all(roles.map(({ server }) => cluster.untilReady(server)));
  const [gateway] = roles;
  const post = async (token: string, path: string, body: object) =>
    gateway!.server.http.send({ method: 'POST', path, token: `${token}-token`, body });
  const calls = ['a', 'b', 'c'].map((toolCallId) => ({ toolCallId, toolName: 'pay', arguments: {} }));
  const asked = await post('agent', '/v1/tool-calls', { runId: 'run-1', calls });
  const recorded = (asked.body as { readonly calls: readonly ToolCallView[] }).calls;
  for (const { approval } of recorded) {
    const path = `/v1/approvals/${String(approval?.approvalId)}/responses`;
    expect((await post('ann', path, { decision: { type: 'approve' } })).status).toBe(200);
  }
  const receipts = await eventually('the tool to run three times', () =>
    Promise.resolve(tool.receipts().length === 3 ? tool.receipts() : undefined),
  );
  const claims = receipts.map(claimsOf);
  const placeOf = (callId: string): unknown => claims.find(({ sub }) => sub === callId)?.seq;
  expect(recorded.map(({ callId }) => placeOf(callId))).toEqual([1, 2, 3].map((n) => ({ n, of: 3 })));
});
