import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createApiClient, type ApiSchemas } from '@countersign/api-client';
import { expect, it } from '@jest/globals';
import { cleanUpAfterEach } from './harness/cleanup.js';
import { install } from './harness/standalone.js';

cleanUpAfterEach();

const folder = join(import.meta.dirname, '..', '..', 'libs', 'api-client');
const unindented = (code: string): string => code.replace(/^[ \t]+/gm, '').trim();

it('requests, lists, approves and audits over a real server', async () => {
  const { port, tokens } = await install();
  const url = `http://127.0.0.1:${String(port)}`;
  const [agent, me] = [createApiClient({ url, token: tokens.agent }), createApiClient({ url, token: tokens.me })];
  await agent.POST('/v1/tool-calls', {
    body: {
      runId: 'run 1',
      calls: [{ toolCallId: 'c1', toolName: 'delete_file', arguments: { path: '/etc/hosts' }, needsApproval: true }],
    },
  });
  const { data } = await me.GET('/v1/approvals', { params: { query: { state: 'pending' } } });
  const [approval]: readonly ApiSchemas['Approval'][] = data?.approvals ?? [];
  expect(approval).toMatchObject({ toolName: 'delete_file', arguments: { path: '/etc/hosts' } });
  const { approvalId = '', proposal, callId = '' } = approval ?? {};
  const answer = (type: 'approve' | 'deny') =>
    me.POST('/v1/approvals/{approvalId}/responses', {
      params: { path: { approvalId } },
      body: { decision: { type }, reason: 'seen', proposalDigest: proposal?.digest ?? '' },
    });
  expect((await answer('approve')).data).toMatchObject({ state: 'approved' });
  expect(await answer('deny')).toMatchObject({ error: { code: 'already-resolved' }, response: { status: 409 } });
  const audit = await me.GET('/v1/audit/tool-calls/{callId}/events', { params: { path: { callId } } });
  const types = audit.data?.events.map(({ type }) => type);
  expect(types).toEqual(['ToolCallRequested', 'ApprovalRequested', 'ApprovalResponded']);
});

it('the code in its README is part of the compiled example', () => {
  const [, shown = ''] = /^```ts\n([^]*?)^```/m.exec(readFileSync(join(folder, 'README.md'), 'utf8')) ?? [];
  expect(unindented(readFileSync(join(folder, 'examples', 'approve-all.ts'), 'utf8'))).toContain(unindented(shown));
});
