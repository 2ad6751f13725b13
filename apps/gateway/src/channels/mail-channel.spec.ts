import { parseApprovalId } from '@countersign/contracts';
import type { ApprovalView } from '@countersign/contracts';
import { createEmailTokens } from '@countersign/channels';
import { alice, channelContract, mailConfigOf, openEmail, sampleNotice } from '@countersign/channels/testing';
import type { Answers, OpenedChannel } from '@countersign/channels/testing';
import { createPolicies, loadPolicy } from '@countersign/policy';
import type { Policies } from '@countersign/policy';
import { createSessionStore } from '../sqlite/session-store.js';
import { createSessions } from '../inbox/sessions.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';
import { createTokens } from '../tokens.js';
import { mailStyle } from './mail-page.js';
import { createResponsePort } from './response-port.js';

const tokens = createTokens([
  { token: 'agent-token', principal: 'agent', roles: ['agent'] },
  { token: 'alice-token', principal: 'alice', roles: ['approver'] },
  { token: 'bob-token', principal: 'bob', roles: ['approver'] },
]);
const bob = { id: 'bob', email: 'bob@example.com', groups: [] };

/** The ports are known only after listening, so the gateway reads them late. */
async function openGateway(smtpUrl: string, policies?: Policies): Promise<World> {
  const channels = { people: [alice, bob], channels: [mailConfigOf(smtpUrl)], routes: [], broken: [] };
  return openWorld({
    ...(policies !== undefined && { policies }),
    change: (ports) => {
      const sessions = createSessions({ ...ports, tokens, store: createSessionStore(':memory:') });
      return { ...ports, tokens, sessions, channels };
    },
  });
}

const json = { 'content-type': 'application/json', 'countersign-client': 'inbox' };

async function ask({ url }: World, toolName = 'delete_file'): Promise<string> {
  const call = { toolCallId: `call-${toolName}`, toolName, arguments: { path: '/tmp/x' }, needsApproval: true };
  const answer = await fetch(`${url}/v1/tool-calls`, {
    method: 'POST',
    headers: { ...json, authorization: 'Bearer agent-token' },
    body: JSON.stringify({ runId: 'run-1', calls: [call] }),
  });
  const { calls } = (await answer.json()) as { readonly calls: readonly { approval: { approvalId: string } }[] };
  return calls[0]?.approval.approvalId ?? '';
}

async function cookieOf({ url }: World, token: string): Promise<string> {
  const signedIn = await fetch(`${url}/session`, { method: 'POST', headers: json, body: JSON.stringify({ token }) });
  return signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
}

/** Responding by email: a signed-in person opens the link at a real gateway. */
function answersAt(opened: Promise<World>, linkOf: () => Promise<string>): Answers {
  let approvalId = '';
  return {
    question: async () => {
      const world = await opened;
      approvalId = await ask(world);
      const question = await createResponsePort({ ...world, isApprover: () => true }).find(approvalId);
      if (question === undefined) throw new Error('nothing was asked');
      return sampleNotice({ notice: question });
    },
    press: async (type, forgery) => {
      const world = await opened;
      const link = new URL(await linkOf()).pathname;
      const path = forgery === 'token' ? link.replace(/.$/, (last) => (last === '1' ? '2' : '1')) : link;
      const cookie = await cookieOf(world, forgery === 'person' ? 'bob-token' : 'alice-token');
      const answer = await fetch(`${world.url}${path}/response`, {
        method: 'POST',
        headers: { ...json, ...(forgery === 'sender' ? {} : { cookie }) },
        body: JSON.stringify({ decision: { type }, reason: 'seen' }),
      });
      return { isRefused: !answer.ok, told: await answer.text() };
    },
    decideElsewhere: async () => {
      const { url } = await opened;
      const answer = await fetch(`${url}/v1/approvals/${approvalId}/responses`, {
        method: 'POST',
        headers: { ...json, authorization: 'Bearer bob-token' },
        body: JSON.stringify({ decision: { type: 'approve' } }),
      });
      expect(answer.status).toBe(200);
    },
    decided: async () => {
      expect(parseApprovalId(approvalId)).toBeDefined();
      const question = await createResponsePort({ ...(await opened), isApprover: () => true }).find(approvalId);
      return (question?.approval?.responses ?? []).map(
        ({ decision, respondedBy }) => `${decision.type} by ${respondedBy}`,
      );
    },
  };
}

async function openMail(): Promise<OpenedChannel> {
  let world: Promise<World> | undefined;
  const opened = await openEmail('https://countersign.example', (server) => {
    world = openGateway(server.url);
    const linkOf = async (): Promise<string> => {
      const [mail] = await server.mails();
      return /https:\S+\/a\/\S+/.exec(mail?.text ?? '')?.[0] ?? '';
    };
    return answersAt(world, linkOf);
  });
  const close = async (): Promise<void> => {
    await (await world)?.close();
    await opened.close();
  };
  return { ...opened, close };
}

it('keeps the spaces of everything that the page shows, because names and labels differ by them', () => {
  const styles = [...mailStyle.matchAll(/(?<selectors>[^{}]+)\{(?<rules>[^}]*)\}/g)].map(({ groups }) => groups);
  const kept = styles.filter((one) => one?.['rules']?.includes('white-space: break-spaces; line-break: anywhere'));
  const selectors = kept.flatMap((one) => (one?.['selectors'] ?? '').split(',').map((name) => name.trim()));
  expect(selectors.toSorted()).toEqual(['.lines', 'h2', 'pre']);
});

describe('the mail channel', () => channelContract(openMail));

let world: World | undefined;
afterEach(() => world?.close());

describe('the page behind a link', () => {
  const policy = `version: 1
approvers: [{ id: carol, groups: [lawyers] }]
rules:
  - { id: two, match: { tools: [pay] }, then: { require: { quorum: { approve: 2 }, risk: high, requireReason: [deny] } } }
  - { id: signed, match: { tools: [sign] }, then: { require: { requireSignature: true } } }
  - { id: others, match: { tools: [legal] }, then: { require: { anyOf: [lawyers] } } }
`;

  it('has the buttons that the server takes from its reader now, and says why there are none', async () => {
    const smtpUrl = 'smtp://127.0.0.1:1';
    const opened = await openGateway(smtpUrl, createPolicies([loadPolicy('p.yaml', policy)]));
    world = opened;
    const cookie = await cookieOf(opened, 'alice-token');
    const responses = createResponsePort({ ...opened, isApprover: () => true });
    const linkTo = async (toolName: string) => {
      const approvalId = await ask(opened, toolName);
      const { shownDigest = '' } = (await responses.find(approvalId))?.approval ?? {};
      const token = createEmailTokens(mailConfigOf(smtpUrl)).seal({ action: 'o', approvalId, shownDigest }, 'alice');
      return { path: `${opened.url}/a/${token}`, approvalId };
    };
    const pageOf = async (path: string) =>
      (await (await fetch(`${path}/card`, { headers: { cookie } })).json()) as object;
    const { path } = await linkTo('pay');
    expect(await pageOf(path)).toMatchObject({
      ...{ presses: ['approve', 'deny'], reasonFor: ['deny'], isHighRisk: true, confirms: 'Approve pay' },
      words: 'It is waiting for your answer.',
    });
    const answer = await fetch(`${path}/response`, {
      ...{ method: 'POST', headers: { ...json, cookie }, body: '{"decision":{"type":"approve"}}' },
    });
    expect(answer.status).toBe(200);
    expect(await pageOf(path)).toMatchObject({
      ...{ presses: [], words: 'You have answered. It waits for others.' },
      card: { status: ['alice approved via mail'] },
    });
    expect(await pageOf((await linkTo('sign')).path)).toMatchObject({
      ...{ presses: [], words: 'It is decided in the inbox, not here.' },
      card: { warnings: [expect.stringContaining('Sign it in the inbox')] },
    });
    expect(await pageOf((await linkTo('legal')).path)).toMatchObject({
      ...{ presses: [], words: expect.stringMatching(/^You can look, not decide\. ./) as unknown },
    });
  });
});

it('denies by a mail link what its page shows, though others have told the agent something since, and approves nothing then', async () => {
  const smtpUrl = 'smtp://127.0.0.1:1';
  const require = '{ quorum: { approve: 2 } }';
  const policy = `version: 1\nrules: [{ id: two, match: { tools: [pay] }, then: { require: ${require} } }]\n`;
  const opened = await openGateway(smtpUrl, createPolicies([loadPolicy('p.yaml', policy)]));
  world = opened;
  const approvalId = await ask(opened, 'pay');
  const { shownDigest = '' } =
    (await createResponsePort({ ...opened, isApprover: () => true }).find(approvalId))?.approval ?? {};
  const token = createEmailTokens(mailConfigOf(smtpUrl)).seal({ action: 'o', approvalId, shownDigest }, 'alice');
  const cookie = await cookieOf(opened, 'alice-token');
  const told = await fetch(`${opened.url}/v1/approvals/${approvalId}/responses`, {
    ...{ method: 'POST', headers: { ...json, authorization: 'Bearer bob-token' } },
    body: JSON.stringify({ decision: { type: 'approve' }, instruction: 'slowly' }),
  });
  expect(told.status).toBe(200);
  const path = `${opened.url}/a/${token}`;
  const card = await fetch(`${path}/card`, { headers: { cookie } });
  const { approval, ...page } = (await card.json()) as { readonly approval: ApprovalView };
  expect(page).toMatchObject({
    ...{ isChanged: true, presses: ['deny'] },
    words: 'It was changed since this mail: look at the inbox. Here you can deny it.',
  });
  const send = async (type: string, proposalDigest?: string): Promise<number> => {
    const body = JSON.stringify({ decision: { type }, proposalDigest });
    return (await fetch(`${path}/response`, { method: 'POST', headers: { ...json, cookie }, body })).status;
  };
  const { digest } = approval.proposal;
  expect([await send('approve', digest), await send('deny'), await send('deny', `sha256:${'0'.repeat(64)}`)]).toEqual([
    409, 409, 409,
  ]);
  expect(await send('deny', digest)).toBe(200);
});

it('takes no edit by a mail link whose arguments have more than 256 KiB', async () => {
  const smtpUrl = 'smtp://127.0.0.1:1';
  const opened = await openGateway(smtpUrl);
  world = opened;
  const approvalId = await ask(opened);
  const responses = createResponsePort({ ...opened, isApprover: () => true });
  const approval = (await responses.find(approvalId))?.approval;
  const question = { action: 'o', approvalId, shownDigest: approval?.shownDigest ?? '' } as const;
  const path = `/a/${createEmailTokens(mailConfigOf(smtpUrl)).seal(question, 'alice')}/response`;
  const cookie = await cookieOf(opened, 'alice-token');
  const edit = async (bytes: number): Promise<Response> =>
    fetch(`${opened.url}${path}`, {
      method: 'POST',
      headers: { ...json, cookie },
      body: JSON.stringify({ decision: { type: 'edit', arguments: { blob: 'x'.repeat(bytes) } } }),
    });
  const tooLarge = await edit(256 * 1024);
  expect([tooLarge.status, await tooLarge.json()]).toMatchObject([413, { code: 'payload-too-large' }]);
  expect((await responses.find(approvalId))?.approval?.responses).toEqual([]);
  expect((await edit(200 * 1024)).status).toBe(200);
});
