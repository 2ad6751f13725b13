import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { freePort } from '../../ports.js';
import { cleanUpAfterEach, temporaryFolder } from '../harness/cleanup.js';
import type { Server } from '../harness/server.js';
import { eventually } from '../harness/wait.js';
import { openPair, openStoreServer, startRole, storeUrl, tokenEntries, untilWaitingFor, writeTokens } from './roles.js';

cleanUpAfterEach();

/** The only people of the group. */
const desk = { token: 'desk', principal: 'desk', roles: ['front-end'], people: { groups: ['ops'] } };

function policyOf(require: string): string {
  const file = join(temporaryFolder(), 'policy.yaml');
  writeFileSync(file, `version: 1\nrules: [{ id: one, then: { require: { ${require} } } }]\n`);
  return file;
}

async function request({ http }: Server, toolCallId: string) {
  const body = { runId: 'run-1', calls: [{ toolCallId, toolName: 'pay', arguments: {} }] };
  const answer = await http.send({ method: 'POST', path: '/v1/tool-calls', token: 'agent-token', body });
  const { calls } = answer.body as { calls: { callId: string; approval: { approvalId: string } | null }[] };
  const { callId = '', approval = null } = calls[0] ?? {};
  return { callId, approvalId: approval?.approvalId ?? '' };
}

async function respond({ http }: Server, approvalId: string, id: string, type: string) {
  const { body } = await http.send({
    ...{ method: 'POST', path: `/v1/approvals/${approvalId}/responses`, token: 'desk' },
    headers: { 'countersign-person': id, 'countersign-person-groups': 'ops' },
    body: { decision: { type } },
  });
  const {
    state,
    code,
    responses = [],
  } = body as {
    readonly state?: string;
    readonly code?: string;
    readonly responses?: readonly { readonly respondedBy: string }[];
  };
  return [state ?? code, ...responses.map(({ respondedBy }) => respondedBy)];
}

test('people of a front end vote at both gateways, and one of them ends the vote that the other recorded', async () => {
  const { a, b } = await openPair({
    COUNTERSIGN_TOKENS_FILE: writeTokens([desk]),
    COUNTERSIGN_POLICY: policyOf('quorum: { approve: 3, of: [ops] }'),
  });
  const { approvalId } = await request(a, 'call-1');
  const approve = (gateway: Server, id: string) => respond(gateway, approvalId, id, 'approve');
  expect(await approve(a, 'kim')).toEqual(['pending', 'desk#kim']);
  expect(await approve(b, 'KIM')).toEqual(['already-voted']);
  expect(await approve(b, 'lou')).toEqual(['pending', 'desk#kim', 'desk#lou']);
  const ended = await a.http.send({ method: 'DELETE', path: '/v1/people/desk%23lou', token: 'desk' });
  expect(ended).toMatchObject({ status: 200, body: { approvalIds: [approvalId] } });
  expect(await approve(b, 'mia')).toEqual(['pending', 'desk#kim', 'desk#mia']);
  expect(await approve(a, 'ned')).toEqual(['approved', 'desk#kim', 'desk#mia', 'desk#ned']);
});

test('a projector lets silence approve while a front end has the people who could respond, and none of them denied', async () => {
  const { port } = await openStoreServer();
  const tokens = writeTokens([desk]);
  const env = {
    ...{ COUNTERSIGN_EVENTSTORE_URL: storeUrl(port), COUNTERSIGN_TOKENS_FILE: tokens },
    COUNTERSIGN_POLICY: policyOf(
      'quorum: { approve: 1, deny: 2, of: [ops] }, expiresIn: 3s, onTimeout: allow, allowOnTimeout: i-understand, risk: low',
    ),
    COUNTERSIGN_KAFKA_BROKERS: `127.0.0.1:${String(await freePort())}`,
  };
  const [gateway, projector] = await Promise.all([startRole('gateway', env), startRole('projector', env)]);
  await gateway.ready();
  await untilWaitingFor(projector, 'kafka', /cannot be asked|ECONNREFUSED|connect/i);
  const ended = ({ callId }: { readonly callId: string }) =>
    eventually('the end of the question', async () => {
      const { body } = await gateway.http.send({ method: 'GET', path: `/v1/tool-calls/${callId}`, token: 'ann-token' });
      const { state } = body as { readonly state: string };
      return state === 'awaiting_approval' ? undefined : state;
    });
  const [silent, denied] = [await request(gateway, 'silent'), await request(gateway, 'denied')];
  expect(await respond(gateway, denied.approvalId, 'kim', 'deny')).toEqual(['pending', 'desk#kim']);
  expect([await ended(silent), await ended(denied)]).toEqual(['approved', 'expired']);
  const late = await request(gateway, 'late');
  writeFileSync(tokens, JSON.stringify(tokenEntries));
  expect(await ended(late)).toBe('expired');
});
