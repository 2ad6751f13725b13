import { expect } from '@jest/globals';
import { deriveCallId } from '@countersign/contracts';
import type { ToolCallView } from '@countersign/contracts';
import { freePort } from '../../ports.js';
import { temporaryFolder } from '../harness/cleanup.js';
import { filesWith } from '../harness/files-with.js';
import type { HttpAnswer } from '../harness/http.js';
import { startServer } from '../harness/server.js';
import type { Server } from '../harness/server.js';
import { eventually } from '../harness/wait.js';
import { readAfter, writeTokens } from './roles.js';

/** The subject of the calls. */
export const subject = 'customer-42';
/** The secrets of a call. */
export const inArgument = 'hunter2-in-an-argument';
export const inOutput = 'hunter2-in-an-output';

/** Two gateways over one store, and every folder that they and the store write to. */
export interface World {
  readonly a: Server;
  readonly b: Server;
  readonly start: (more?: Readonly<Record<string, string>>) => Promise<Server>;
  readonly folders: readonly string[];
}

/** Two gateways over one store. `places`: other folders that must have no secret. */
export async function openGateways(
  storeUrl: string,
  keys: Readonly<Record<string, string>>,
  places: readonly string[],
  ofA: Readonly<Record<string, string>> = {},
): Promise<World> {
  const folders = [...places];
  const env = { COUNTERSIGN_EVENTSTORE_URL: storeUrl, COUNTERSIGN_TOKENS_FILE: writeTokens(), ...keys };
  const start = async (more: Readonly<Record<string, string>> = {}): Promise<Server> => {
    const folder = temporaryFolder();
    folders.push(folder);
    return startServer({ folder, port: await freePort(), args: ['start', 'gateway'], env: { ...env, ...more } });
  };
  const [a, b] = await Promise.all([start(ofA), start()]);
  await Promise.all([a.ready(), b.ready()]);
  return { a, b, start, folders };
}

type Token = 'agent-token' | 'ann-token' | 'me-token' | 'worker-token';

/** Sends a request whose repetition is recognised. */
export const post = ({ http }: Server, token: Token, path: string, body: object): Promise<HttpAnswer> =>
  http.send({
    method: 'POST',
    path,
    token,
    body,
    idempotencyKey: `${token} ${path} ${JSON.stringify(body)}`,
  });

/** Requests a call that needs an approval and has a secret in its arguments. */
export function requestSecrets(gateway: Server, toolCallId = 'call'): Promise<HttpAnswer> {
  const call = { toolCallId, toolName: 'pay', arguments: { password: inArgument }, labels: { subject } };
  const calls = [{ ...call, needsApproval: true }];
  return post(gateway, 'agent-token', '/v1/tool-calls', { runId: 'run-1', calls });
}

/** A call whose secrets are in its arguments and its output; every step on another gateway than the one before. */
export async function playSecrets({ a, b }: World, toolCallId = 'call'): Promise<HttpAnswer> {
  // On a busy machine a gateway may be ready before its store responds in time.
  const requested = await eventually('the request', async () => {
    const answer = await requestSecrets(a, toolCallId);
    return answer.status === 503 ? undefined : answer;
  });
  expect(requested.status).toBe(201);
  const callId = deriveCallId('default', 'run-1', toolCallId);
  const shown = await readAfter(b, `/v1/tool-calls/${callId}`, requested);
  const { approval, actionDigest } = shown.body as ToolCallView;
  const decided = { decision: { type: 'approve' }, actionDigest };
  expect((await post(b, 'me-token', `/v1/approvals/${approval?.approvalId ?? ''}/responses`, decided)).status).toBe(
    200,
  );
  const claimed = await post(a, 'worker-token', `/v1/tool-calls/${callId}/claim`, { resolverId: 'worker' });
  expect(claimed.body).toMatchObject({ arguments: { password: inArgument } });
  const outcome = { attempt: 1, status: 'succeeded', output: { apiKey: inOutput } };
  const settled = await post(b, 'worker-token', `/v1/tool-calls/${callId}/outcome`, outcome);
  expect(settled.status).toBe(200);
  return settled;
}

/** The files that have a secret. */
export const placesOf = ({ folders }: World): readonly string[] => filesWith(folders, [inArgument, inOutput]);

export const erase = (gateway: Server): Promise<HttpAnswer> =>
  post(gateway, 'ann-token', '/v1/subjects/erase', { subject });

export const viewOn = async ({ http }: Server, toolCallId = 'call'): Promise<unknown> =>
  (
    await http.send({
      path: `/v1/tool-calls/${deriveCallId('default', 'run-1', toolCallId)}?values=clear`,
      method: 'GET',
      token: 'ann-token',
    })
  ).body;

/** The call of `playSecrets` after its erasure. */
export const erased = { state: 'succeeded', arguments: { password: '[erased]' }, output: { apiKey: '[erased]' } };

export const untilErasedOn = (gateway: Server, toolCallId = 'call'): Promise<unknown> =>
  eventually('the values to read as erased', async () => {
    const view = await viewOn(gateway, toolCallId);
    return JSON.stringify(view).includes('[erased]') ? view : undefined;
  });
