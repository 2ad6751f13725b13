import { randomUUID } from 'node:crypto';
import { rmSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createFrontEnd } from '@countersign/api-client';
import { expect } from '@jest/globals';
import { createClient, createWorker, gateTool } from '@countersign/worker-sdk';
import type { Client, GateTool, Worker } from '@countersign/worker-sdk';
import type {
  FunctionApprovalResponseContent,
  UserInteractionProcessed,
  UserInteractionRequested,
} from '@countersign/worker-sdk/mappings';
import { z } from 'zod';
import {
  clientOf,
  countRows,
  dropTable,
  type Session,
  type Turn,
  type UserMessage,
} from '../../../libs/worker-sdk/examples/function-approvals.js';
import type { Delivery } from '../../../libs/worker-sdk/examples/user-interactions.js';
import { onCleanup, temporaryFolder } from '../harness/cleanup.js';
import { install } from '../harness/standalone.js';

const token = (name: string): string => `${name}-token-of-this-spec`;
const tokens = [
  { token: token('agent'), principal: 'agent', roles: ['agent'] },
  { token: token('worker'), principal: 'worker', roles: ['resolver'] },
  { token: token('me'), principal: 'me', roles: ['approver'] },
  { token: token('admin'), principal: 'admin', roles: ['admin'] },
  {
    token: token('desk'),
    principal: 'desk',
    roles: ['front-end'],
    people: { groups: ['ops'], maxAssurance: 'medium' },
  },
];

const policy = `
version: 1
approvers:
  - { id: me, groups: [ops] }
rules:
  - id: two
    when: 'has(args.table) && args.table == "two"'
    then: { require: { quorum: { approve: 2, deny: 1, of: [ops] } } }
  - id: four
    when: 'has(args.table) && args.table.startsWith("four")'
    then: { require: { quorum: { approve: 4, deny: 4 } } }
  - id: why
    when: 'has(args.table) && args.table == "why"'
    then: { require: { quorum: { approve: 1, deny: 1 }, requireReason: [deny] } }
  - id: assured
    when: 'has(args.table) && args.table == "assured"'
    then: { require: { minAssurance: medium } }
  - id: signed
    when: 'has(args.table) && args.table == "signed"'
    then: { require: { requireSignature: true } }
  - id: step
    when: 'has(args.table) && args.table == "step"'
    then: { require: { batch: any-asks-all } }
`;

/** Has a value that only its requester sees. */
const wire = gateTool({
  name: 'wire',
  inputSchema: z.strictObject({ password: z.string(), amount: z.number() }),
  needsApproval: true,
  execute: ({ amount }) => ({ wired: amount }),
});

/** An application with people of its own (`desk#…`), and the Countersign that it asks. */
export interface Desk {
  readonly url: string;
  readonly worker: (agentToken?: string) => Worker;
  /** `proven`: signed in with a second factor. */
  readonly person: (id: string, proven?: 'proven') => Client;
  /** Claims as another process does, and never reports. */
  readonly claim: (callId: string) => Promise<unknown>;
  /** Takes back the answer of a person, as the inbox does. */
  readonly withdraw: (approvalId: string, id?: string) => Promise<void>;
  /** Stops everything. Returns what lifts it. */
  readonly stop: (reason: string) => Promise<() => Promise<void>>;
  /** Ends a person. */
  readonly end: (id: string) => Promise<void>;
  readonly approvedBy: (approvalId: string) => Promise<readonly string[]>;
  /** Starts the server again, without what it remembers of idempotency keys. */
  readonly restart: () => Promise<void>;
}

/** `rules` and `more`: another policy, and the tools of the worker in addition. */
export async function openDesk(rules = policy, more: readonly GateTool[] = []): Promise<Desk> {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'data'));
  writeFileSync(join(folder, 'data', 'tokens.json'), JSON.stringify(tokens), { mode: 0o600 });
  writeFileSync(join(folder, 'policy.yaml'), rules);
  const server = await install({ COUNTERSIGN_POLICY: join(folder, 'policy.yaml') }, folder);
  const url = `http://127.0.0.1:${String(server.port)}`;
  const front = { url, token: token('desk') };
  const person: Desk['person'] = (id, proven) =>
    clientOf(createFrontEnd(front), { id, groups: ['ops'], ...(proven && { assurance: 'medium' }) }, front);
  const remove = async (path: string, id: string): Promise<void> => {
    // A second withdrawal says that it repeats no earlier one.
    const key = { 'idempotency-key': randomUUID() };
    const headers = {
      ...key,
      authorization: `Bearer ${token('desk')}`,
      ...(id !== '' && { 'countersign-person': id }),
    };
    expect((await fetch(`${url}${path}`, { method: 'DELETE', headers })).status).toBe(200);
  };
  const post = async (path: string, body: object): Promise<unknown> => {
    const headers = { authorization: `Bearer ${token('admin')}`, 'content-type': 'application/json' };
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(response.ok).toBe(true);
    return response.json();
  };
  return {
    url,
    stop: async (reason) => {
      const { stop } = (await post('/v1/stops', { reason })) as { readonly stop: { readonly stopId: string } };
      return async () => void (await post(`/v1/stops/${stop.stopId}/lift`, { reason: 'mended' }));
    },
    worker: (agentToken = token('agent')) => {
      const options = { url, token: agentToken, resolverToken: token('worker'), agentId: 'agent' };
      const worker = createWorker({ ...options, tools: [dropTable, countRows, wire, ...more] });
      onCleanup(() => worker.close(0));
      return worker;
    },
    person,
    claim: (callId) => createClient({ url, token: token('worker') }).claim(callId, { resolverId: 'other' }),
    withdraw: (approvalId, id = 'kim') => remove(`/v1/approvals/${approvalId}/responses/mine`, id),
    end: (id) => remove(`/v1/people/${encodeURIComponent(`desk#${id}`)}`, ''),
    approvedBy: async (approvalId) =>
      (await person('kim').getApproval(approvalId)).progress.flatMap(({ approvedBy }) => approvedBy),
    restart: async () => {
      await server.server().stop();
      rmSync(join(folder, 'data', 'idempotency.db'));
      await server.restart();
    },
  };
}

/** A call of the model. */
export const callOf = (callId: string, name: string, table: string) =>
  ({ type: 'function_call', callId, name, arguments: JSON.stringify({ table }) }) as const;

/** A message as a chat or a bus passes it on. */
export const sent = <Message>(message: Message): Message => JSON.parse(JSON.stringify(message)) as Message;

/** The session of a person. */
export const sessionOf = (user: Client, signIn = 'first'): Session => ({ user, signIn });

/** A message of the chat with the session that sent it, as the application stores it. */
export const messageOf = (
  id: string,
  contents: readonly FunctionApprovalResponseContent[],
  sentIn = 'first',
): UserMessage => ({ sentBy: `desk#${id}`, sentIn, contents });

/** What the bus recorded of an event from the window of a person. */
export const deliveryOf = (id: string, sentIn = 'first'): Delivery => ({
  eventId: randomUUID(),
  sentBy: `desk#${id}`,
  sentIn,
});

/** The responses of the user, as they come back through a chat. */
export function responsesOf({ contents }: Turn, answers: readonly boolean[]): FunctionApprovalResponseContent[] {
  const requests = contents.filter((content) => content.type === 'function_approval_request');
  const responses = answers.map((approved, index) => {
    const { id = '', functionCall = callOf('', '', '') } = requests[index] ?? {};
    return { type: 'function_approval_response', id, functionCall, approved } as const;
  });
  return sent(responses);
}

/** An event of a workflow engine. */
export type InteractionEvent = UserInteractionRequested | UserInteractionProcessed;
