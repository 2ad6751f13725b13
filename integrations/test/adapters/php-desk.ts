import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { freePort } from '../../../test/ports.ts';
import { onCleanup, temporaryFolder } from '../../../test/process/harness/cleanup.js';
import { install, type Installation } from '../../../test/process/harness/standalone.js';
import { eventually } from '../../../test/process/harness/wait.js';

const examples = join(import.meta.dirname, '..', '..', 'php', 'examples');

const policy = `version: 1
rules:
  - { id: refunds, match: { tools: [refund] }, then: { require: { quorum: { approve: 2, of: [support, ops] } } } }
  - { id: together, match: { tools: [transfer] }, when: args.amount > 3000 && args.amount < 3100, then: { require: { anyOf: [chat], batch: any-asks-all } } }
  - { id: of-the-chat, match: { tools: [transfer] }, when: args.amount > 1000 && args.amount <= 10000, then: { require: { anyOf: [chat] } } }
  - { id: of-two, match: { tools: [transfer] }, when: args.amount > 20000 && args.amount <= 50000, then: { require: { quorum: { approve: 2, deny: 2, of: [chat] } } } }
  - { id: why, match: { tools: [transfer] }, when: args.amount > 50000, then: { require: { anyOf: [chat], requireReason: [deny] } } }
  - { id: soon, match: { tools: [transfer] }, when: args.amount > 10000 && args.amount <= 20000, then: { require: { anyOf: [chat], expiresIn: 1s } } }
  - { id: secret, match: { tools: [get_location] }, when: has(args.password), then: { require: { anyOf: [chat] } } }
`;

/** A server with an agent, a worker, and a front end in PHP. */
export async function installDesk(): Promise<Installation> {
  const place = temporaryFolder();
  const entry = (principal: string, roles: readonly string[], more = {}) => ({
    token: `${principal}-token`,
    principal,
    roles,
    ...more,
  });
  const tokens = [
    entry('agent', ['agent'], { agentIds: ['*'] }),
    entry('me', ['approver']),
    entry('worker', ['resolver']),
    entry('boss', ['admin']),
    entry('support-desk', ['agent', 'front-end'], { people: { groups: ['support', 'ops', 'chat'] } }),
  ];
  mkdirSync(join(place, 'data'), { mode: 0o700 });
  writeFileSync(join(place, 'data', 'tokens.json'), JSON.stringify(tokens), { mode: 0o600 });
  writeFileSync(join(place, 'policy.yaml'), policy);
  return install({ COUNTERSIGN_POLICY: join(place, 'policy.yaml') }, place);
}

interface Phase {
  readonly toolApprovalRequests: readonly {
    readonly approvalId: string;
    readonly digest: string;
    readonly shownRevision: number;
    readonly callId: string;
    readonly text: string;
    readonly mayNotDecide: string | null;
  }[];
  readonly toolResults: object;
  readonly refused: Readonly<Record<string, { readonly problem: string }>>;
}

export interface Chat {
  readonly statusOf: (headers: Readonly<Record<string, string>>, body?: unknown) => Promise<number>;
  readonly post: (messages: readonly object[], user?: string) => Promise<Phase>;
}

/** Serves the page of the chat, to two users who are signed in. */
export async function openChat(env: Readonly<Record<string, string>>): Promise<Chat> {
  const [port, sessions, conversation] = [await freePort(), temporaryFolder(), randomUUID()];
  for (const user of ['kim', 'lou']) {
    const values = { user, conversation: `${user}-${conversation}` };
    const session = Object.entries(values).map(([name, value]) => `${name}|s:${String(value.length)}:"${value}";`);
    writeFileSync(join(sessions, `sess_${user}`), session.join(''));
  }
  const address = `127.0.0.1:${String(port)}`;
  const settings = ['-d', `session.save_path=${sessions}`];
  const server = spawn('php', [...settings, '-S', address, join(examples, 'chat.php')], {
    env: { ...process.env, ...env },
    stdio: 'ignore',
  });
  onCleanup(() => void server.kill('SIGKILL'));
  const sendPage = (body: unknown, headers: Readonly<Record<string, string>>) =>
    fetch(`http://${address}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', cookie: 'PHPSESSID=kim', ...headers },
      body: JSON.stringify(body),
    });
  const isUp = await eventually('the page', async () => {
    if (server.exitCode !== null) return { ours: false };
    const answer = await sendPage([], { cookie: '' }).catch(() => undefined);
    return answer === undefined
      ? undefined
      : { ours: answer.headers.get('set-cookie')?.startsWith('PHPSESSID=') === true };
  });
  // Another process may have taken the free port in between.
  if (!isUp.ours) return openChat(env);
  return {
    statusOf: async (headers: Readonly<Record<string, string>>, body: unknown = []) =>
      (await sendPage(body, headers)).status,
    post: async (messages: readonly object[], user = 'kim') => {
      const answer = await sendPage(messages, { cookie: `PHPSESSID=${user}` });
      return (await answer.json()) as Phase;
    },
  };
}

type Env = Readonly<Record<string, string>>;

/** Sends as the front end, in the name of a person or as the agent that it is, too. */
function send(env: Env, method: string, path: string, body?: object, as: Env = {}): Promise<Response> {
  return fetch(`${env['URL'] ?? ''}${path}`, {
    method,
    headers: { authorization: 'Bearer support-desk-token', 'content-type': 'application/json', ...as },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

const personOf = (person: string, group: string): Env => ({
  'countersign-person': person,
  'countersign-person-groups': group,
});

/** Another person of the front end approves outside of the chat. Returns the status. */
export async function approveAs(
  env: Env,
  person: string,
  group: string,
  approvalId: string,
  more: object = {},
): Promise<number> {
  const path = `/v1/approvals/${approvalId}/responses`;
  return (await send(env, 'POST', path, { decision: { type: 'approve' }, ...more }, personOf(person, group))).status;
}

export async function withdrawAs(env: Env, person: string, group: string, approvalId: string): Promise<void> {
  await send(env, 'DELETE', `/v1/approvals/${approvalId}/responses/mine`, undefined, personOf(person, group));
}

/** Stops all calls of the chat. Returns what lifts the stop. */
export async function stopChat(env: Env): Promise<() => Promise<unknown>> {
  const admin = { authorization: 'Bearer boss-token' };
  const answer = await send(env, 'POST', '/v1/stops', { agentId: 'support-desk', reason: 'it runs wild' }, admin);
  const { stop } = (await answer.json()) as { readonly stop: { readonly stopId: string } };
  return () => send(env, 'POST', `/v1/stops/${stop.stopId}/lift`, { reason: 'it is mended' }, admin);
}

/** The agent asks about an expired call again. Returns the id of the question, or undefined before the call has expired. */
export async function askAgain(env: Env, callId: string): Promise<string | undefined> {
  const answer = await send(env, 'POST', `/v1/tool-calls/${callId}/approvals`, {});
  if (!answer.ok) return undefined;
  return ((await answer.json()) as { readonly approvalId: string }).approvalId;
}

/** Serves the ledger. Before the answer to a response of a person is handed on, `before` runs. Returns the address. */
export async function slowAnswers(url: string, before: () => Promise<unknown>): Promise<string> {
  const server = createServer((request, response) => {
    const passOn = async (): Promise<void> => {
      const { method = 'GET', headers } = request;
      const body = method === 'POST' ? { body: await text(request) } : {};
      const kept = Object.entries(headers).filter(([name]) => !hopByHop.includes(name)) as [string, string][];
      const answer = await fetch(`${url}${request.url ?? ''}`, { method, headers: kept, ...body });
      const sent = await answer.text();
      if (request.url?.endsWith('/responses') === true) await before();
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(sent);
    };
    void passOn().catch(() => response.destroy());
  });
  onCleanup(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}

const hopByHop = ['connection', 'content-length', 'host', 'transfer-encoding'];
