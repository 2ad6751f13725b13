import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createApiClient, createFrontEnd } from '@countersign/api-client';
import type { ApiClient } from '@countersign/api-client';
import { expect, test } from '@jest/globals';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';
import { openRawSocket } from './harness/raw-socket.js';
import { install } from './harness/standalone.js';
import type { Installation } from './harness/standalone.js';
import { folderComplaints } from './harness/verified-folder.js';
import { eventually } from './harness/wait.js';

cleanUpAfterEach();

const folderOf = (name: string): string => join(import.meta.dirname, '..', '..', name);
const unindented = (code: string): string => code.replace(/^[ \t]+/gm, '').trim();

interface Entry {
  readonly token: string;
  readonly principal: string;
  readonly roles: readonly string[];
  readonly people?: object;
}
const desk = {
  token: 'desk-token',
  principal: 'support-desk',
  roles: ['front-end'],
  people: { groups: ['support', 'ops'] },
};
const deskAgent = { token: 'desk-agent-token', principal: 'support-desk', roles: ['agent'] };
const policy = `version: 1
rules: [{ id: refunds, match: { tools: [refund] }, then: { require: { quorum: { approve: 2, of: [support, ops] } } } }]
`;

/** A server with a front end, whose tokens file changes while it runs. */
async function openDesk() {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'policy.yaml'), policy.replace(', of: [support, ops]', ''));
  const installed = await install({ COUNTERSIGN_POLICY: join(folder, 'policy.yaml') }, folder);
  const url = `http://127.0.0.1:${String(installed.port)}`;
  const file = join(installed.dataFolder, 'tokens.json');
  const first = JSON.parse(readFileSync(file, 'utf8')) as readonly Entry[];
  const statusOf = async (token: string, groups: string): Promise<number> => {
    const headers = {
      authorization: `Bearer ${token}`,
      'countersign-person': 'x',
      'countersign-person-groups': groups,
    };
    return (await fetch(`${url}/v1/me`, { headers })).status;
  };
  const change = async (more: readonly Entry[], wanted: readonly [groups: string, status: number]): Promise<void> => {
    writeFileSync(file, JSON.stringify([...first, ...more]));
    await eventually('the changed tokens', async () =>
      (await statusOf(desk.token, wanted[0])) === wanted[1] ? true : undefined,
    );
  };
  await change([desk, deskAgent], ['support', 200]);
  writeFileSync(join(folder, 'policy.yaml'), policy);
  const agent = createApiClient({ url, token: deskAgent.token });
  const frontEnd = createFrontEnd({ url, token: desk.token });
  let calls = 0;
  const ask = async (): Promise<string> => {
    calls += 1;
    const call = { toolCallId: `c${String(calls)}`, toolName: 'refund', arguments: { amount: 50 } };
    const { data } = await agent.POST('/v1/tool-calls', { body: { runId: 'run', calls: [call] } });
    return data?.calls[0]?.approval?.approvalId ?? '';
  };
  return { installed, url, change, frontEnd, ask };
}

const approve = (person: ApiClient, approvalId: string) =>
  person.POST('/v1/approvals/{approvalId}/responses', {
    params: { path: { approvalId } },
    body: { decision: { type: 'approve' } },
  });
const statusAfter = async (person: ApiClient, approvalId: string) => (await approve(person, approvalId)).data?.state;

/** Sends bytes that no client would, and returns the status. */
async function statusOfRaw({ port }: Installation, headers: string): Promise<string> {
  const raw = await openRawSocket(port);
  await raw.say(
    `GET /v1/me HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${desk.token}\r\n${headers}connection: close\r\n\r\n`,
  );
  await raw.closed;
  return raw.heard().slice(9, 12);
}

test('people of a front end decide over a restart, and a changed or removed token decides nothing more', async () => {
  const { installed, change, frontEnd, ask } = await openDesk();
  const [kim, lou] = [
    frontEnd.as({ id: 'kim', groups: ['support'] }),
    frontEnd.as({ id: 'Lou Ö', groups: ['ops'], name: 'Lou' }),
  ];
  await eventually('the policy', async () => {
    const { data } = await kim.GET('/v1/approvals/{approvalId}', { params: { path: { approvalId: await ask() } } });
    return data?.requirement.stages[0]?.groups?.includes('support') === true ? true : undefined;
  });
  const before = await ask();
  expect(await statusAfter(kim, before)).toBe('pending');
  await installed.server().stop('SIGKILL');
  await installed.restart();
  expect((await approve(kim, before)).error?.code).toBe('already-voted');
  const { data } = await approve(lou, before);
  expect(data?.responses.map(({ respondedBy, via }) => [respondedBy, via])).toEqual([
    ['support-desk#kim', 'support-desk'],
    ['support-desk#Lou Ö', 'support-desk'],
  ]);
  expect(data?.state).toBe('approved');

  // One person in several spellings has one vote, and is ended in all of them.
  const spelled = await ask();
  expect(await statusAfter(frontEnd.as({ id: 'Straße', groups: ['support'] }), spelled)).toBe('pending');
  expect((await approve(frontEnd.as({ id: 'STRASSE', groups: ['ops'] }), spelled)).error?.code).toBe('already-voted');
  expect((await frontEnd.end('strasse')).data?.approvalIds).toEqual([spelled]);

  const [narrowed, ended, late] = [await ask(), await ask(), await ask()];
  for (const approvalId of [narrowed, ended]) expect(await statusAfter(kim, approvalId)).toBe('pending');
  const { data: gone } = await frontEnd.end('kim');
  expect(gone?.approvalIds.toSorted()).toEqual([narrowed, ended].toSorted());
  expect(await statusAfter(lou, ended)).toBe('pending');
  expect(await statusAfter(kim, narrowed)).toBe('pending');
  await change([{ ...desk, people: { groups: ['ops'] } }, deskAgent], ['support', 403]);
  expect((await approve(kim, late)).error?.code).toBe('forbidden');
  expect(await statusAfter(lou, narrowed)).toBe('pending');

  // The last bytes of an answer arrive after the token was removed.
  const raw = await openRawSocket(installed.port);
  const body = JSON.stringify({ decision: { type: 'approve' } });
  await raw.say(
    `POST /v1/approvals/${late}/responses HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${desk.token}\r\ncountersign-person: ann\r\n` +
      `countersign-person-groups: ops\r\ncontent-type: application/json\r\ncontent-length: ${String(body.length)}\r\nconnection: close\r\n\r\n${body.slice(0, 5)}`,
  );
  await change([deskAgent], ['ops', 401]);
  await raw.say(body.slice(5));
  await raw.closed;
  expect(raw.heard()).toMatch(/^HTTP\/1\.1 401 /);
  await installed.server().stop();
  expect(await folderComplaints(installed.dataFolder)).toEqual([]);
});

test('a request that names its person twice, or in bytes that can be read in two ways, is refused', async () => {
  const { installed } = await openDesk();
  const hostile = [
    'countersign-person: kim\r\ncountersign-person: ann\r\n',
    'Countersign-Person: kim\r\ncountersign-PERSON: kim\r\n',
    'countersign-person: kim\r\ncountersign-person-groups: support\r\ncountersign-person-groups: ops\r\n',
    'countersign-person: k\u00efm\r\n',
    'countersign-person: kim ann\r\n',
    'countersign-person: %6b%69%6d%00\r\n',
    'countersign-person:\r\n',
  ];
  for (const headers of hostile) expect([headers, await statusOfRaw(installed, headers)]).toEqual([headers, '400']);
  expect(await statusOfRaw(installed, 'countersign-person: %6b%69%6D\r\n')).toBe('200');
});

test('the code of the guide is part of the compiled example', () => {
  const [, shown = ''] = /^```ts\n([^]*?)^```/m.exec(readFileSync(folderOf('docs/front-ends.md'), 'utf8')) ?? [];
  const example = readFileSync(folderOf('libs/api-client/examples/front-end.ts'), 'utf8');
  expect(shown).not.toBe('');
  expect(unindented(example)).toContain(unindented(shown));
});
