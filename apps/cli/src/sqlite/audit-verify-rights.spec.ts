import { hash } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ToolCallView } from '@countersign/contracts';
import { createSystemIds, sleep, systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { openStandalone, readStandaloneConfig } from '@countersign/standalone';
import { createCliRun } from '../testing/cli-run.js';
import { meddle } from './meddle.js';

const folder = mkdtempSync(join(tmpdir(), 'countersign-rights-'));
const [data, tokensFile, policyFile] = ['data', 'tokens.json', 'policy.yaml'].map((name) => join(folder, name)) as [
  string,
  string,
  string,
];
let server: Awaited<ReturnType<typeof openStandalone>> | undefined;
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const tokenOf = (name: string): string => `cs_${name}_0123456789012345678901234567890123456789`;
const idOf = (name: string): string => `token:${hash('sha256', tokenOf(name), 'hex').slice(0, 16)}`;
const entry = (name: string, roles: readonly string[], groups: readonly string[] = [], principal = name) => ({
  ...{ token: tokenOf(name), principal, roles, groups },
});
const first = [
  entry('agent', ['agent']),
  entry('alice', ['approver'], ['ops']),
  entry('bob', ['approver'], ['fin']),
  entry('dora', ['approver']),
  entry('boss', ['admin', 'approver', 'auditor'], ['ops']),
];
const [agent, alice, bob, dora, boss] = first as [object, object, object, object, object];
/** Bob has the group of the rule from the policy alone, and dora has let alice respond in her place. */
const policy = `version: 1
approvers:
  - { id: alice }
  - { id: bob, groups: [ops] }
  - { id: dora, groups: [sec], delegates: [{ to: alice, from: '2020-01-01T00:00:00Z', until: '2100-01-01T00:00:00Z' }] }
rules:
  - { id: sec, match: { tools: [rotate] }, then: { require: { anyOf: [sec] } } }
  - { id: pay, match: { tools: [pay] }, then: { require: { quorum: { approve: 2, deny: 1, of: [ops] } } } }
`;

async function start(): Promise<void> {
  const env = { COUNTERSIGN_DATA: data, COUNTERSIGN_PORT: '0', COUNTERSIGN_TOKENS_FILE: tokensFile };
  const world = { clock: systemClock, ids: createSystemIds(), log: createSilentLog() };
  server = await openStandalone(readStandaloneConfig({ ...env, COUNTERSIGN_POLICY: policyFile }), world);
}

const write = (...entries: readonly object[]): void => {
  writeFileSync(tokensFile, JSON.stringify(entries), { mode: 0o600 });
};

async function send(as: string, path: string, body?: object, method = 'POST'): Promise<Response> {
  const headers = { authorization: `Bearer ${tokenOf(as)}`, 'content-type': 'application/json' };
  const init = body === undefined ? { headers } : { headers, method, body: JSON.stringify(body) };
  return fetch(`${server?.url ?? ''}${path}`, init);
}

async function done(...request: Parameters<typeof send>): Promise<Response> {
  const answer = await send(...request);
  const { ok, status } = answer;
  expect({ path: request[1], ok, problem: ok ? '' : await answer.text(), status }).toMatchObject({ ok: true });
  return answer;
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await isTrue()); tries += 1) {
    if (tries > 1500) throw new Error('it did not happen within 150 s');
    await sleep(systemClock, 100);
  }
}

/** The file is in force where its tokens have these statuses and groups. */
const untilGroups = (as: string, ...groups: readonly string[]): Promise<void> =>
  until(async () => {
    const answer = await send(as, '/v1/me');
    const me = answer.status === 200 ? ((await answer.json()) as { readonly groups: readonly string[] }) : undefined;
    return JSON.stringify(me?.groups) === JSON.stringify(groups);
  });

let calls = 0;

async function ask(
  toolName = 'pay',
  more: object = {},
): Promise<{ readonly callId: string; readonly responses: string }> {
  calls += 1;
  const call = {
    toolCallId: `call-${String(calls)}`,
    toolName,
    arguments: { amount: calls, ...more },
    needsApproval: true,
  };
  const asked = (await (await done('agent', '/v1/tool-calls', { runId: 'run', calls: [call] })).json()) as {
    readonly calls: readonly [ToolCallView];
  };
  const [{ callId, approval }] = asked.calls;
  return { callId, responses: `/v1/approvals/${approval?.approvalId ?? ''}/responses` };
}

const approve = { decision: { type: 'approve' } };

/** People act, while the tokens file changes and the server starts again. */
async function tellTheStory(): Promise<void> {
  writeFileSync(policyFile, policy);
  write(...first);
  await start();
  const open = await ask();
  await done('alice', open.responses, approve);
  await done('alice', `${open.responses}/mine`, {}, 'DELETE');
  await done('alice', open.responses, { decision: { type: 'edit', arguments: { amount: 1 } } });
  await done('bob', open.responses, approve);
  await done('alice', (await ask('rotate')).responses, approve);
  await done('boss', `/v1/tool-calls/${(await ask('pay', { password: 'hunter2' })).callId}/cancel`, { reason: 'no' });
  await done('boss', '/v1/runs/run/cancel', { reason: 'no' });
  const grant = { toolName: 'read', match: { any: true }, reason: 'routine', maxUses: 1, expiresInMs: 600_000 };
  const { grantId } = (await (await done('alice', '/v1/grants', grant)).json()) as { readonly grantId: string };
  await done('boss', `/v1/grants/${grantId}`, {}, 'DELETE');
  await done('boss', '/v1/subjects/erase', { subject: 'run:run', requestedBy: 'agent' });

  const second = entry('second', ['approver'], ['ops', 'fin'], 'alice');
  write(agent, entry('bob', ['approver'], ['ops']), dora, boss, second);
  await untilGroups('second', 'ops', 'fin');
  expect((await send('alice', '/v1/me')).status).toBe(401);
  const third = await ask();
  await done('second', third.responses, approve);
  await done('bob', third.responses, { decision: { type: 'deny' } });
  await server?.stop();
  write(agent, alice, bob, dora, boss);
  await start();
  const last = await ask();
  await done('alice', last.responses, approve);
  await done('boss', last.responses, approve);
  await server?.stop();
  server = undefined;
}

const run = createCliRun({});

/** The findings of the judge, and what it lists as unproven. */
async function verified(source: string) {
  const { code, out } = await run('audit', 'verify', source, '--all', '--json');
  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  const { unproven = [] } = (lines.at(-1)?.['summary'] ?? {}) as { readonly unproven?: readonly string[] };
  const found = lines.filter(({ ok, check }) => ok === false && check !== 'tree').map(({ detail }) => String(detail));
  return { code, found, unproven };
}

/** The first vote of a person: its place in the log. */
function positionOf(type: string, member: string): number {
  const log = new DatabaseSync(join(data, 'events.db'), { readOnly: true });
  const sql = `SELECT min(position) AS position FROM events WHERE type = '${type}' AND data LIKE '%${member}%'`;
  const position = Number(log.prepare(sql).get()?.['position']);
  log.close();
  return position;
}

describe('countersign audit verify of a folder that a server wrote', () => {
  beforeAll(tellTheStory);

  it('finds nothing, and shows the rights of each person', async () => {
    const { code, found, unproven } = await verified(data);
    expect({ code, found }).toEqual({ code: 3, found: [] });
    expect(unproven.join()).not.toContain('people');
  });

  it.each([
    [
      'a group that alice never had',
      'ApprovalResponded',
      'alice',
      `'$.groups', json('["ops","sec"]')`,
      'the group sec',
    ],
    ['the credential of another', 'ApprovalResponded', 'alice', `'$.credential', '${idOf('bob')}'`, 'of bob, and not'],
    ['a credential that never was', 'ApprovalResponded', 'bob', `'$.credential', 'token:0'`, 'was not in the tokens'],
    ['one that was added later', 'ApprovalResponded', 'alice', `'$.credential', '${idOf('second')}'`, 'was not in the'],
    [
      'a role that alice never had',
      'ApprovalResponded',
      'alice',
      `'$.roles', json('["admin","approver"]')`,
      'the roles',
    ],
    ['a delegation that never was', 'ApprovalResponded', 'bob', `'$.onBehalfOf', 'dora'`, 'no policy let bob respond'],
    ['a chat that nobody configured', 'ApprovalResponded', 'bob', `'$.credential', 'slack:T1:U1'`, 'channel of slack'],
    ['a person who is no admin', 'SubjectErased', 'boss', `'$.erasedBy', 'alice'`, 'not of alice'],
    ['a grant of another', 'GrantRevoked', 'boss', `'$.revokedBy', 'bob'`, 'not of bob'],
    ['a vote of the service', 'ApprovalResponded', 'bob', `'$.respondedBy', 'countersign'`, 'not of countersign'],
    ['more assurance', 'ApprovalResponded', 'bob', `'$.via', 'mcp', '$.assurance', 'medium'`, 'gives less assurance'],
    ['a passkey that signed nothing', 'ApprovalResponded', 'bob', `'$.credential', 'passkey:x'`, 'has signed nothing'],
    ['a request of a person', 'ToolCallRequested', 'agent', `'$.requestedBy', 'dora'`, 'gave dora the role agent'],
    ['an owner that the agent has not', 'ToolCallRequested', 'agent', `'$.owner', 'dora'`, 'agent agent of dora'],
    ['a cancellation of another', 'ToolCallCancelled', 'boss', `'$.cancelledBy', 'alice'`, 'not of alice'],
  ])('finds %s', async (_, type, member, change, why) => {
    const copy = mkdtempSync(join(folder, 'copy-'));
    cpSync(data, copy, { recursive: true });
    const position = String(positionOf(type, `"${member}"`));
    meddle(copy, `UPDATE events SET data = json_set(data, ${change}) WHERE position = ${position}`);
    const { code, found } = await verified(copy);
    expect(code).toBe(1);
    expect(found[0]).toMatch(/^rights: /);
    expect(found[0]).toContain(why);
  });
});
