import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ApprovalView, JsonObject } from '@countersign/contracts';
import { createClient, type Client as Ledger } from '@countersign/worker-sdk';
import { Client as StatelessClient } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import {
  ElicitRequestSchema,
  type ElicitRequestFormParams,
  type ElicitResult,
} from '@modelcontextprotocol/sdk/types.js';
import { cliCommand } from '../../../../test/process/cli/run-cli.js';
import { cleanUpAfterAll, onCleanup, temporaryFolder } from '../../../../test/process/harness/cleanup.js';
import { inheritedEnvironment } from '../../../../test/process/harness/environment.js';
import { install } from '../../../../test/process/harness/standalone.js';
import { connectClient, textOf } from './mcp-client.js';

cleanUpAfterAll();

const policy = `
version: 1
rules:
  - { id: sure, match: { tools: [launch] }, then: { require: { quorum: { approve: 1 }, minAssurance: medium } } }
  - { id: two, match: { tools: [pay] }, then: { require: { quorum: { approve: 2 }, risk: high } } }
`;

let url: string;
let agent: Ledger;
let bob: Ledger;
let auditor: Ledger;
let client: Client;
let plain: Client;
let fillIn: (form: ElicitRequestFormParams) => ElicitResult | Promise<ElicitResult>;
let forms: ElicitRequestFormParams[];

beforeAll(async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'data'));
  const entries = [
    { token: 'agent-token', principal: 'agent', roles: ['agent'], agentIds: ['*'] },
    { token: 'me-token', principal: 'me', roles: ['approver', 'auditor', 'admin'] },
    { token: 'worker-token', principal: 'worker', roles: ['resolver'] },
    { token: 'bob-token', principal: 'bob', roles: ['approver'] },
    { token: 'capped-token', principal: 'cat', roles: ['approver'], maxAssurance: 'low' },
  ];
  writeFileSync(join(folder, 'data', 'tokens.json'), JSON.stringify(entries), { mode: 0o600 });
  const file = join(folder, 'policy.yaml');
  writeFileSync(file, policy);
  const { port } = await install({ COUNTERSIGN_POLICY: file }, folder);
  url = `http://127.0.0.1:${port}`;
  [agent, bob, auditor] = ['agent', 'bob', 'me'].map((name) => createClient({ url, token: `${name}-token` })) as [
    Ledger,
    Ledger,
    Ledger,
  ];
  const env = { COUNTERSIGN_URL: url, COUNTERSIGN_TOKEN: 'me-token', COUNTERSIGN_PUBLIC_URL: 'https://inbox.example/' };
  const command = cliCommand(['mcp-approver']);
  ({ client } = await connectClient(command, env, { elicitation: { form: {} } }));
  ({ client: plain } = await connectClient(command, env));
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    const form = params as ElicitRequestFormParams;
    forms.push(form);
    return fillIn(form);
  });
});

beforeEach(() => {
  forms = [];
  fillIn = () => ({ action: 'cancel' });
});

let calls = 0;
async function pending(toolName = 'delete_file', args: JsonObject = { path: '/etc/hosts' }): Promise<ApprovalView> {
  calls += 1;
  const call = { toolCallId: 'call_1', toolName, arguments: args, needsApproval: true };
  const [view] = await agent.requestToolCalls({ runId: `run-${calls}`, agentId: 'bot', calls: [call] });
  const approval = view?.approval ?? undefined;
  if (approval === undefined) throw new Error('the call waits for no person');
  return approval;
}
const decide = (approvalId: string, by = client) =>
  by.callTool({ name: 'decide', arguments: { approvalId } }) as Promise<Record<string, unknown>>;
const stateOf = async ({ approvalId }: ApprovalView) => (await auditor.getApproval(approvalId)).state;

async function recorded({ callId }: ApprovalView): Promise<unknown> {
  for await (const event of auditor.events({ callId, types: ['ApprovalResponded'] })) return event.data;
  return undefined;
}

it('asks the person at a stateless client, which shows the form in a round of the request', async () => {
  const approval = await pending();
  const stateless = new StatelessClient(
    { name: 'spec', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } }, capabilities: { elicitation: { form: {} } } },
  );
  onCleanup(() => stateless.close());
  const messages: string[] = [];
  stateless.setRequestHandler('elicitation/create', ({ params }) => {
    messages.push(params.message);
    return { action: 'accept', content: { decision: 'approve' } };
  });
  const [command = '', ...args] = cliCommand(['mcp-approver']);
  const env = { ...inheritedEnvironment(), COUNTERSIGN_URL: url, COUNTERSIGN_TOKEN: 'me-token' };
  await stateless.connect(new StdioClientTransport({ command, args, env }));
  const listed = await stateless.callTool({ name: 'list_pending' });
  expect(JSON.stringify(listed)).toContain(approval.approvalId);
  const decided = await stateless.callTool({ name: 'decide', arguments: { approvalId: approval.approvalId } });
  expect(decided).not.toHaveProperty('isError', true);
  expect(messages).toEqual([expect.stringContaining(approval.actionDigest)]);
  expect(await stateOf(approval)).toBe('approved');
  expect(await recorded(approval)).toMatchObject({ via: 'mcp', assurance: 'low' });
});

it('lists and shows what waits, with the address of the inbox', async () => {
  const { approvalId } = await pending();
  const url = `https://inbox.example/approvals/${approvalId}`;
  expect(textOf(await client.callTool({ name: 'list_pending', arguments: {} }))).toContain(url);
  const shown: unknown = JSON.parse(
    textOf(await client.callTool({ name: 'show_approval', arguments: { approvalId } })),
  );
  expect(shown).toMatchObject({ approvalId, url, arguments: { path: '/etc/hosts' }, state: 'pending' });
});

describe('the tool decide', () => {
  it('shows the person the exact arguments, and sends what they chose', async () => {
    const approval = await pending('delete_file', { path: '/tmp/\u202etxt.exe', note: 'a\n\nRisk: low' });
    fillIn = () => ({ action: 'accept', content: { decision: 'approve', reason: 'seen' } });
    expect(textOf(await decide(approval.approvalId))).toMatch(/chose "approve" for delete_file.* is approved/);
    const [{ message, requestedSchema }] = forms as [ElicitRequestFormParams];
    expect(message).toContain('    {\n      "path": "/tmp/\\u202etxt.exe",\n      "note": "a\\n\\nRisk: low"\n    }');
    expect(message).toContain(approval.actionDigest);
    expect(message).toMatch(/^Risk: not rated *$/m);
    expect(requestedSchema.properties['decision']).toEqual(
      expect.objectContaining({ type: 'string', enum: ['approve', 'deny'] }),
    );
    expect(requestedSchema.properties['decision']).not.toHaveProperty('default');
    expect(await recorded(approval)).toMatchObject({ respondedBy: 'me', via: 'mcp', assurance: 'low', reason: 'seen' });
  });

  it('sends a denial', async () => {
    const approval = await pending();
    fillIn = () => ({ action: 'accept', content: { decision: 'deny', reason: 'not now' } });
    expect(textOf(await decide(approval.approvalId))).toMatch(/is denied/);
    expect(await recorded(approval)).toMatchObject({ decision: { type: 'deny' }, reason: 'not now', via: 'mcp' });
    expect(textOf(await decide(approval.approvalId))).toMatch(/Nothing was decided: .* is denied/);
    expect(forms).toHaveLength(1);
  });

  it('decides nothing when the person declines, and does not ask them again', async () => {
    const approval = await pending();
    fillIn = () => ({ action: 'decline' });
    for (let attempt = 0; attempt < 2; attempt += 1) {
      expect(await decide(approval.approvalId)).toMatchObject({ isError: true });
    }
    expect([forms.length, await stateOf(approval)]).toEqual([1, 'pending']);
  });

  it('decides nothing when the person closes the form, and may ask again', async () => {
    const approval = await pending();
    expect(textOf(await decide(approval.approvalId))).toMatch(/did not answer the form \(cancel\).*inbox\.example/);
    expect(await stateOf(approval)).toBe('pending');
    await decide(approval.approvalId);
    expect(forms).toHaveLength(2);
  });

  it.each([[{}], [{ decision: 'edit' }], [{ decision: true }]])(
    'decides nothing by the content %j',
    async (content) => {
      const approval = await pending();
      fillIn = () => ({ action: 'accept', content: content });
      expect(await decide(approval.approvalId)).toMatchObject({ isError: true });
      expect(await stateOf(approval)).toBe('pending');
    },
  );

  it('takes no decision from the arguments of the model', async () => {
    const approval = await pending();
    const args = { approvalId: approval.approvalId, decision: 'approve', action: 'accept' };
    expect(await client.callTool({ name: 'decide', arguments: args })).toMatchObject({ isError: true });
    expect([forms.length, await stateOf(approval)]).toEqual([1, 'pending']);
  });

  it('sends the person of a client without forms to the inbox', async () => {
    const approval = await pending();
    const result = await decide(approval.approvalId, plain);
    expect(result).toMatchObject({ isError: true });
    expect(textOf(result)).toContain(`https://inbox.example/approvals/${approval.approvalId}`);
    expect(await stateOf(approval)).toBe('pending');
  });

  it('cannot satisfy a rule that is to be sure of the person', async () => {
    const approval = await pending('launch');
    fillIn = () => ({ action: 'accept', content: { decision: 'approve' } });
    expect(textOf(await decide(approval.approvalId))).toMatch(/assurance of "mcp" is low/);
    expect(await stateOf(approval)).toBe('pending');
  });

  it('does not approve arguments that have changed while the form was open', async () => {
    const approval = await pending('pay', { euros: 5 });
    const { approvalId } = approval;
    fillIn = async () => {
      await bob.respond(approvalId, { decision: { type: 'edit', arguments: { euros: 5000 } } });
      return { action: 'accept', content: { decision: 'approve' } };
    };
    expect(textOf(await decide(approvalId))).toMatch(/digest/);
    expect(await auditor.getApproval(approvalId)).toMatchObject({ state: 'pending', arguments: { euros: 5000 } });
    fillIn = () => ({ action: 'accept', content: { decision: 'approve' } });
    expect(textOf(await decide(approvalId))).toMatch(/is approved/);
    expect(forms.at(-1)?.message).toContain('"euros": 5000');
  });

  it('opens one form at a time', async () => {
    const [one, other] = [await pending(), await pending()];
    const second = Promise.withResolvers<Record<string, unknown>>();
    fillIn = async () => {
      second.resolve(await decide(other.approvalId));
      return { action: 'cancel' };
    };
    await decide(one.approvalId);
    expect(textOf(await second.promise)).toMatch(/another form open/);
    expect(forms).toHaveLength(1);
  });

  it('does not show arguments that are too long for a form', async () => {
    const approval = await pending('delete_file', { path: 'x'.repeat(20_000) });
    expect(textOf(await decide(approval.approvalId))).toMatch(/too long for a form.*inbox\.example/);
    expect(forms).toEqual([]);
  });
});

describe('a token with a maximal assurance', () => {
  const send = (path: string, body: unknown, headers: Readonly<Record<string, string>>) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  const respond = ({ approvalId, proposal }: ApprovalView, headers: Readonly<Record<string, string>>) =>
    send(
      `/v1/approvals/${approvalId}/responses`,
      { decision: { type: 'approve' }, proposalDigest: proposal.digest },
      headers,
    );

  it('has no more at the API, by any name of the client, or in a session of the inbox', async () => {
    const approval = await pending('launch');
    const signedIn = await send('/session', { token: 'capped-token' }, { 'countersign-client': 'inbox' });
    const [cookie = ''] = (signedIn.headers.get('set-cookie') ?? '').split(';');
    const bearer = { authorization: 'Bearer capped-token' };
    const ways = [bearer, { ...bearer, 'countersign-client': 'cli' }, { cookie, 'countersign-client': 'inbox' }];
    for (const headers of ways) {
      const refused = await respond(approval, headers);
      expect([refused.status, await refused.json()]).toMatchObject([
        403,
        { code: 'not-an-approver', minAssurance: 'medium' },
      ]);
    }
    expect(await stateOf(approval)).toBe('pending');
    const other = await pending();
    expect((await respond(other, bearer)).status).toBe(200);
    expect(await recorded(other)).toMatchObject({ respondedBy: 'cat', via: 'api', assurance: 'low' });
  });
});

it('names the remedy for a token that is not one of an approver', async () => {
  const env = { COUNTERSIGN_URL: url, COUNTERSIGN_TOKEN: 'agent-token' };
  const { client: wrong } = await connectClient(cliCommand(['mcp-approver']), env);
  const reply = await wrong.callTool({ name: 'list_pending', arguments: {} });
  expect(textOf(reply)).toMatch(/needs the role approver.*Set COUNTERSIGN_TOKEN of this MCP server to the token/);
});
