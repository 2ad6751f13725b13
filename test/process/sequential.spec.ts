import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ToolCallView } from '@countersign/contracts';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';
import { install } from './harness/standalone.js';
import type { Installation } from './harness/standalone.js';
import { eventually } from './harness/wait.js';

cleanUpAfterEach();

const body = (ids: readonly string[], toolName = 'move') => ({
  runId: 'run',
  batchMode: 'sequential',
  calls: ids.map((toolCallId) => ({
    toolCallId,
    toolName,
    arguments: { toolCallId },
    needsApproval: toolName === 'move',
  })),
});

/** The answers that are looked at: of a call, of calls, of a claim, of a refusal. */
type Body = ToolCallView & {
  readonly calls: readonly ToolCallView[];
  readonly attempt: number;
  readonly code?: string;
};

/** One of several processes of an agent, and the people and the worker of its calls. */
function actors({ http, tokens }: Installation) {
  const send = async (method: 'GET' | 'POST', path: string, token: string, sent?: unknown) => {
    const answer = await http.send({ method, path, token, ...(sent !== undefined && { body: sent }) });
    return { status: answer.status, body: answer.body as Body };
  };
  const call = async (callId: string) => (await send('GET', `/v1/tool-calls/${callId}`, tokens.agent)).body;
  return {
    call,
    request: (ids: readonly string[], toolName?: string) =>
      send('POST', '/v1/tool-calls', tokens.agent, body(ids, toolName)),
    respond: (view: ToolCallView, type: 'approve' | 'deny') =>
      send('POST', `/v1/approvals/${String(view.approval?.approvalId)}/responses`, tokens.me, { decision: { type } }),
    claim: ({ callId }: ToolCallView) =>
      send(...(['POST', `/v1/tool-calls/${callId}/claim`, tokens.worker, { resolverId: 'w' }] as const)),
    report: ({ callId }: ToolCallView, attempt: number) =>
      send('POST', `/v1/tool-calls/${callId}/outcome`, tokens.worker, { attempt, status: 'succeeded', output: 1 }),
    ask: ({ callId }: ToolCallView) => send('POST', `/v1/tool-calls/${callId}/approvals`, tokens.agent, {}),
    untilAsked: ({ callId }: ToolCallView) =>
      eventually('the turn', async () => {
        const view = await call(callId);
        return view.approval?.state === 'pending' ? view : undefined;
      }),
  };
}

test('the calls of a run take their turn across requests and crashes, in the order of the log', async () => {
  const world = await install();
  const { request, respond, claim, report, call, ask, untilAsked } = actors(world);
  const [a] = (await request(['a'])).body.calls;
  const [b, c] = (await request(['b', 'c'])).body.calls;
  const [d] = (await request(['d'])).body.calls;
  if (a === undefined || b === undefined || c === undefined || d === undefined) throw new Error('no calls');
  expect(a).toMatchObject({ state: 'awaiting_approval', approval: { state: 'pending' } });
  expect(a.waitsForTurn).toBeUndefined();
  for (const view of [b, c, d]) {
    expect(view).toMatchObject({ state: 'awaiting_approval', approval: null, waitsForTurn: true });
  }
  expect(await claim(b)).toMatchObject({ status: 409, body: { code: 'not-approved' } });
  expect(await ask(b)).toMatchObject({ status: 409, body: { code: 'already-pending' } });

  await respond(a, 'approve');
  const { body: claimed } = await claim(a);
  expect(await call(b.callId)).toMatchObject({ waitsForTurn: true });
  world.server().kill('SIGKILL');
  await world.server().exited;
  await world.restart();
  expect(await call(b.callId)).toMatchObject({ waitsForTurn: true });
  expect((await report(a, claimed.attempt)).status).toBe(200);

  await respond(await untilAsked(b), 'deny');
  world.server().kill('SIGKILL');
  await world.server().exited;
  await world.restart();
  const asked = await untilAsked(c);
  expect(await call(d.callId)).toMatchObject({ waitsForTurn: true });
  await respond(asked, 'approve');
  await report(c, (await claim(c)).body.attempt);
  await untilAsked(d);

  const entries = await world.stopAndRead();
  const turns = entries.filter(({ type }) => type === 'ApprovalRequested').map(({ callId }) => callId);
  expect(turns).toEqual([a, b, c, d].map(({ callId }) => callId));
}, 120_000);

test('what a denial or a cancellation ends gives its turn to the next one, and a cancelled run has none', async () => {
  const world = await install();
  const { request, respond, call, untilAsked } = actors(world);
  const { calls } = (await request(['a', 'b', 'c', 'd', 'e'])).body;
  const [a, b, c, d] = calls;
  if (a === undefined || b === undefined || c === undefined || d === undefined) throw new Error('no calls');
  const cancel = (path: string) =>
    world.http.send({ method: 'POST', path, token: world.tokens.agent, body: { reason: 'no more' } });
  await respond(await untilAsked(a), 'deny');
  await untilAsked(b);
  await cancel(`/v1/tool-calls/${c.callId}/cancel`);
  await cancel(`/v1/tool-calls/${b.callId}/cancel`);
  await untilAsked(d);
  await cancel('/v1/runs/run/cancel');
  const states = await Promise.all(calls.map(async ({ callId }) => (await call(callId)).state));
  expect(states).toEqual(['denied', 'cancelled', 'cancelled', 'cancelled', 'cancelled']);
}, 120_000);

test('a denial that ends the run gives no turn to what waits behind it', async () => {
  const policy = join(temporaryFolder(), 'policy.yaml');
  const rule = "{ id: delete, match: { tools: ['delete'] }, then: { require: { denyEndsRun: true } } }";
  writeFileSync(policy, `{ version: 1, default: allow, rules: [${rule}] }`);
  const world = await install({ COUNTERSIGN_POLICY: policy });
  const { request, respond, call, claim } = actors(world);
  const [denied] = (await request(['a'], 'delete')).body.calls;
  const { calls } = (await request(['b', 'c', 'd'], 'wipe')).body;
  if (denied === undefined) throw new Error('no calls');
  await respond(denied, 'deny');
  await eventually('the end of the run', async () => {
    const views = await Promise.all(calls.map(({ callId }) => call(callId)));
    return views.every(({ state }) => state === 'cancelled') ? true : undefined;
  });
  for (const one of calls) expect((await claim(one)).status).toBe(409);
  const [later] = (await request(['later'], 'wipe')).body.calls;
  expect(later).toMatchObject({ state: 'allowed' });

  const allowed = (await world.stopAndRead()).filter(({ type }) => type === 'ToolCallAllowed');
  expect(allowed.map(({ callId }) => callId)).toEqual([later?.callId]);
}, 120_000);
