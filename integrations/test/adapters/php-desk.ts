import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../../test/ports.ts';
import { onCleanup, temporaryFolder } from '../../../test/process/harness/cleanup.js';
import { install, type Installation } from '../../../test/process/harness/standalone.js';
import { eventually } from '../../../test/process/harness/wait.js';

const examples = join(import.meta.dirname, '..', '..', 'php', 'examples');

const policy = `version: 1
rules:
  - { id: refunds, match: { tools: [refund] }, then: { require: { quorum: { approve: 2, of: [support, ops] } } } }
  - { id: of-the-chat, match: { tools: [transfer] }, when: args.amount > 1000, then: { require: { anyOf: [chat] } } }
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
    readonly text: string;
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
  const send = (body: unknown, headers: Readonly<Record<string, string>>) =>
    fetch(`http://${address}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', cookie: 'PHPSESSID=kim', ...headers },
      body: JSON.stringify(body),
    });
  const isUp = await eventually('the page', async () => {
    if (server.exitCode !== null) return { ours: false };
    const answer = await send([], { cookie: '' }).catch(() => undefined);
    return answer === undefined
      ? undefined
      : { ours: answer.headers.get('set-cookie')?.startsWith('PHPSESSID=') === true };
  });
  // Another process may have taken the free port in between.
  if (!isUp.ours) return openChat(env);
  return {
    statusOf: async (headers: Readonly<Record<string, string>>, body: unknown = []) =>
      (await send(body, headers)).status,
    post: async (messages: readonly object[], user = 'kim') => {
      const answer = await send(messages, { cookie: `PHPSESSID=${user}` });
      return (await answer.json()) as Phase;
    },
  };
}

/** Another person of the front end approves outside of the chat. Returns the status. */
export async function approveAs(
  env: Readonly<Record<string, string>>,
  person: string,
  group: string,
  approvalId: string,
): Promise<number> {
  const answer = await fetch(`${env['URL'] ?? ''}/v1/approvals/${approvalId}/responses`, {
    method: 'POST',
    headers: {
      ...{ authorization: 'Bearer support-desk-token', 'content-type': 'application/json' },
      ...{ 'countersign-person': person, 'countersign-person-groups': group },
    },
    body: JSON.stringify({ decision: { type: 'approve' } }),
  });
  return answer.status;
}
