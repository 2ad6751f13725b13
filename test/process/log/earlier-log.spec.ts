import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openCountersign } from '@countersign/standalone';
import { expect, it } from '@jest/globals';
import { cleanUpAfterEach, onCleanup, temporaryFolder } from '../harness/cleanup.js';

cleanUpAfterEach();

const recorded = join(import.meta.dirname, 'schema-1');
const text = (name: string): string => readFileSync(join(recorded, name), 'utf8');

interface Call {
  readonly callId: string;
  readonly approvalId?: string;
}
const calls = Object.entries(JSON.parse(text('calls.json')) as Record<string, Call>);

/** What a worker gets that claims each call after the upgrade: the arguments, or why it may not run. */
const mayRun: Readonly<Record<string, unknown>> = {
  'approved, waits for its worker': { path: '/tmp/b' },
  allowed: { amount: 20 },
  'flagged by its worker': { amount: 20 },
  'edited alone': { path: '/tmp/k2' },
  'edited by one of two, agreed by the other': { amount: 800 },
  'two stages, both': { amount: 5 },
  'a delegate and one more': { amount: 300 },
  'covered by a grant': { path: '/tmp/free/1' },
  'remembered exact for the agent': { to: 'a' },
  'covered by a remembered grant': { to: 'a' },
  'remembered tool for the run': { to: 'b' },
  'batch whole: a': { path: '/tmp/n' },
  'batch whole: b': { path: '/tmp/o' },
  'batch, edit in one: a': { path: '/tmp/r2' },
  'batch, edit in one: b': { amount: 1 },
  'in bulk: a': { path: '/tmp/s' },
  'in bulk: b': { path: '/tmp/t' },
  'high risk': { page: 1 },
  'high risk, grant confirmed': { page: 3 },
  'batch begun: b': { path: '/tmp/bb' },
  child: { path: '/tmp/u' },
  'with a hidden value': { user: 'u', password: 'hunter2hunter2' },
  'edited, hidden': { user: 'u', password: 'other' },
  'approved by silence': { host: 'a' },
  'silence to come, approved by one of two': { host: 'd' },
};

const people = ['alice', 'bob', 'carol'];
const groups: Readonly<Record<string, string[]>> = { alice: ['ops'], bob: ['ops', 'security'], carol: ['managers'] };
const tokenOf = (principal: string): string => `the-token-of-${principal}-${'x'.repeat(16)}`;

/** A data folder as the earlier version left it, with the tokens and the policy that it ran with. */
function restoredSettings() {
  const folder = temporaryFolder();
  const data = join(folder, 'data');
  mkdirSync(data, { mode: 0o700 });
  for (const name of ['events', 'keys']) {
    const database = new DatabaseSync(join(data, `${name}.db`));
    database.exec(text(`${name}.sql`));
    database.close();
  }
  cpSync(join(recorded, 'events.acknowledged'), join(data, 'events.acknowledged'));
  writeFileSync(join(data, 'root.key'), `${Buffer.alloc(32, 7).toString('base64')}\n`, { mode: 0o600 });
  const entry = (principal: string, role: string) => ({
    ...{ token: tokenOf(principal), principal, tenant: 'default', roles: [role], groups: groups[principal] ?? [] },
  });
  const tokens = join(folder, 'tokens.json');
  writeFileSync(
    tokens,
    JSON.stringify([
      ...[entry('agent', 'agent'), entry('worker', 'resolver')],
      ...people.map((person) => entry(person, 'approver')),
    ]),
    { mode: 0o600 },
  );
  return {
    COUNTERSIGN_DATA: data,
    COUNTERSIGN_PORT: '0',
    COUNTERSIGN_TOKENS_FILE: tokens,
    COUNTERSIGN_TOKEN: tokenOf('agent'),
    COUNTERSIGN_RESOLVER_TOKEN: tokenOf('worker'),
    COUNTERSIGN_POLICY: join(recorded, 'policy.yaml'),
    COUNTERSIGN_LOG_LEVEL: 'error',
  };
}

async function upgraded() {
  const { url, close } = await openCountersign(restoredSettings());
  onCleanup(close);
  return async (principal: string, path: string, body?: unknown) => {
    const response = await fetch(`${url}/v1${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${tokenOf(principal)}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
}
type Ask = Awaited<ReturnType<typeof upgraded>>;

const claim = (ask: Ask, { callId }: Call) => ask('worker', `/tool-calls/${callId}/claim`, { resolverId: 'upgraded' });

it('lets run exactly what had been agreed to, with these arguments', async () => {
  const ask = await upgraded();
  const claimed: Record<string, unknown> = {};
  for (const [name, call] of calls) {
    const { status, body } = await claim(ask, call);
    if (status === 200) claimed[name] = body.arguments;
    else expect([name, status]).toEqual([name, 409]);
  }
  expect(claimed).toEqual(mayRun);
});

it('asks on about what is pending, and runs what each person was shown', async () => {
  const ask = await upgraded();
  const ran: Record<string, unknown> = {};
  for (const [name, call] of calls) {
    const view = await ask('alice', `/tool-calls/${call.callId}`);
    if (view.body.state !== 'awaiting_approval') continue;
    const approvalId = (view.body.approval as { approvalId: string }).approvalId;
    let shown: unknown;
    for (const person of people) {
      const { body: card } = await ask(person, `/approvals/${approvalId}`);
      if (card.state !== 'pending') break;
      shown = card.arguments;
      const { shownDigest, proposal } = card as { shownDigest: string; proposal: { digest: string } };
      const bound = { shownDigest, proposalDigest: proposal.digest };
      await ask(person, `/approvals/${approvalId}/responses`, { decision: { type: 'approve' }, ...bound });
    }
    const { status, body } = await claim(ask, call);
    if (status !== 200) continue;
    expect([name, body.arguments]).toEqual([name, shown]);
    ran[name] = body.arguments;
  }
  expect(ran).toEqual({
    pending: { path: '/tmp/h' },
    'edited by one of two': { amount: 1_000_000 },
    'approved by one, edited by the other': { amount: 700 },
    'edited and withdrawn': { amount: 1_000_000 },
    'edited, withdrawn, approved': { amount: 1_000_000 },
    'edited into a stricter rule': { path: '/tmp/l' },
    'edited in the first of two stages': { amount: 6 },
    'two stages, first alone': { amount: 5 },
    'batch, one half approved: b': { amount: 400 },
    'batch by rule: b': { x: 2 },
    'high risk, grant proposed': { page: 2 },
    'allowed, approval asked for later': { amount: 10 },
    'escalated, nothing before': { to: 'prod' },
    'escalated, one vote before': { to: 'prod' },
    'escalated, edited before': { to: 'everywhere' },
    'escalated, approved by a manager': { to: 'prod' },
  });
});
