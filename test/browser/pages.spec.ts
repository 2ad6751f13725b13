import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { cleanUpAfterEach, temporaryFolder } from '../process/harness/cleanup.js';
import { openInbox, openWorld, rowOf, useBrowser } from './harness/inbox.js';

const policy = `
version: 1
approvers:
  - { id: ann, groups: [ops], delegates: [{ to: bob, from: 2026-01-01T00:00:00Z, until: 2026-01-01T15:30:00Z }] }
  - { id: bob, groups: [ops] }
quotas: { pendingPerAgent: 1 }
rules:
  - { id: no-root, match: { tools: [delete_file] }, when: 'args.path == "/"', then: { block: "never the root" } }
  - { id: deletes, match: { tools: [delete_file] }, then: { require: { anyOf: [ops] } } }
`;

/** Nine hours ahead of UTC in every month. */
const tokyo = { timezoneId: 'Asia/Tokyo' };

describe('the other pages', () => {
  cleanUpAfterEach();
  const browser = useBrowser();

  it('list calls whose outcome is unknown; only an admin can say what happened, with a note', async () => {
    const world = await openWorld();
    const [call] = await world.ask([{ toolName: 'send_money', arguments: { amount: 7 } }]);
    const path = `/v1/tool-calls/${call?.callId ?? ''}`;
    const approve = { decision: { type: 'approve' } };
    await world.send('bob', 'POST', `/v1/approvals/${call?.approval?.approvalId ?? ''}/responses`, approve);
    const { page, complaints } = await openInbox(browser(), world.url);
    await page.getByText('Nothing waits for an answer.').waitFor();
    expect(await page.getByRole('link', { name: /Unknown/ }).count()).toBe(0);
    await world.send('worker', 'POST', `${path}/claim`, { resolverId: 'lost-worker', leaseMs: 300 });
    await page.getByRole('link', { name: 'Unknown 1' }).click();
    await page.getByRole('row', { name: /send_money .*amount: 7 .*The lease of lost-worker ended/ }).waitFor();
    const ann = await openInbox(browser(), `${world.url}/unknown`, 'ann');
    await ann.page.getByText('Only admins can record it; your account lacks the role admin.').waitFor();
    expect(await ann.page.getByRole('button', { name: 'Reconcile…' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Reconcile…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(/It ran/).check();
    expect(await dialog.getByRole('button', { name: 'Record' }).isDisabled()).toBe(true);
    await dialog.getByLabel('How you know (needed)').fill('seen in the list of the bank');
    await dialog.getByRole('button', { name: 'Record' }).click();
    await page.getByText('The outcome of every call is known.').waitFor();
    await ann.page.getByText('The outcome of every call is known.').waitFor();
    expect(await world.send('me', 'GET', path)).toMatchObject({ state: 'succeeded' });
    expect([...complaints, ...ann.complaints]).toEqual([]);
  });

  it('let an admin say what happened to a call that was claimed and released, which needs no retry', async () => {
    const world = await openWorld();
    const [call] = await world.ask([{ toolName: 'send_money', idempotent: true }]);
    const path = `/v1/tool-calls/${call?.callId ?? ''}`;
    const approve = { decision: { type: 'approve' } };
    await world.send('bob', 'POST', `/v1/approvals/${call?.approval?.approvalId ?? ''}/responses`, approve);
    await world.send('worker', 'POST', `${path}/claim`, { resolverId: 'lost-worker', leaseMs: 1 });
    const { page, complaints } = await openInbox(browser(), `${world.url}/calls/${call?.callId ?? ''}`);
    await page.getByRole('button', { name: 'Reconcile…' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByRole('radio').count()).toBe(2);
    await dialog.getByLabel(/It did not run, or it failed/).check();
    await dialog.getByLabel('How you know (needed)').fill('not in the list of the bank');
    await dialog.getByRole('button', { name: 'Record' }).click();
    await page.getByText('failed', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Reconcile…' }).count()).toBe(0);
    expect(await world.send('me', 'GET', path)).toMatchObject({ state: 'failed' });
    expect(complaints).toEqual([]);
  });

  it('show the policy in words and times of the person’s zone, and explain a recorded call and a made-up one', async () => {
    const file = join(temporaryFolder(), 'policy.yaml');
    writeFileSync(file, policy);
    const world = await openWorld({ COUNTERSIGN_POLICY: file });
    const [call] = await world.ask([{ toolName: 'delete_file' }]);
    const { page, complaints } = await openInbox(browser(), `${world.url}/calls/${call?.callId ?? ''}`, 'ann', tokyo);
    const timeline = page.getByRole('region', { name: 'Timeline' });
    await timeline.getByText(/^people are asked by rule deletes, until .* GMT\+9 \(.* UTC\)$/).waitFor();
    const requested = timeline.getByRole('time').first();
    const requestedMs = Date.parse((await requested.getAttribute('datetime')) ?? '');
    expect(await requested.innerText()).toContain(new Date(requestedMs + 9 * 3_600_000).toISOString().slice(11, 19));
    expect(await requested.getAttribute('title')).toMatch(/ GMT\+9 \(.* UTC\)$/);
    await page.getByRole('link', { name: 'explain by the policy' }).click();
    const rules = page.getByRole('region', { name: 'Rules', exact: true });
    await rules.getByRole('row', { name: 'no-root delete_file args.path == "/" block: never the root' }).waitFor();
    await rules.getByRole('row', { name: 'deletes delete_file 1 approver of ops' }).waitFor();
    await rules
      .getByRole('row', { name: /^defaults where a rule says nothing 1 approver within 1 h .*not the requester/ })
      .waitFor();
    await rules
      .getByRole('row', { name: 'quotas every call that needs people at most 1 pending approvals of an agent' })
      .waitFor();
    const said = page.getByRole('region', { name: 'What each rule says' });
    await said.getByRole('row', { name: /^no-root no / }).waitFor();
    await said.getByRole('row', { name: /^deletes yes: it decides / }).waitFor();
    // The agent has one, and so has its principal.
    const refused = page.getByText(/^Refused now: the policy allows 1 calls of an agent/);
    await refused.first().waitFor();
    expect(await refused.count()).toBe(2);
    await page.getByLabel('Arguments as JSON').fill('{"path":"/"}');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByText('It is blocked.').waitFor();
    await page.getByLabel('Arguments as JSON').fill('[1]');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByText('The arguments must be a JSON object.').waitFor();
    const versions = page.getByRole('region', { name: 'Versions', exact: true });
    await versions.getByText(/^sha256:[0-9a-f]{64}$/).waitFor();
    expect(await versions.getByRole('time').getAttribute('title')).toMatch(/ GMT\+9 \(.* UTC\)$/);
    await page
      .getByRole('region', { name: 'People', exact: true })
      .getByRole('row', { name: 'ann ops bob from 1 Jan 2026, 09:00:00 until 2 Jan 2026, 00:30:00' })
      .waitFor();
    expect(complaints).toEqual([]);
  });

  it('remember an approval as a grant, list its uses, revoke it, and create one after a preview', async () => {
    const world = await openWorld();
    const call = { toolName: 'delete_file', arguments: { path: '/tmp/x' } };
    const [first] = await world.ask([call], { runId: 'run-g' });
    const { page, complaints } = await openInbox(browser(), world.url, 'bob');
    await rowOf(page, 'delete_file').click();
    await page.getByRole('heading', { name: 'delete_file' }).waitFor();
    await page.getByLabel('If I approve, allow such calls from now on').check();
    await page
      .getByText(/For 1 hour, calls of delete_file by agent billing-agent in run run-g with exactly these arguments/)
      .waitFor();
    await page.getByLabel('Reason').fill('a scratch file');
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('Approved: delete_file').waitFor();
    expect(first?.state).toBe('awaiting_approval');
    const again = (toolCallId: string) => world.ask([{ ...call, toolCallId }], { runId: 'run-g' });
    expect((await again('second'))[0]?.state).toBe('allowed');
    await page.getByRole('link', { name: 'Grants' }).click();
    const row = page.getByRole('row', { name: /delete_file .*exactly the remembered arguments .*active 1 / });
    await row.waitFor();
    await row.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('button', { name: 'Press again to revoke' }).click();
    await page.getByText('No grant holds').waitFor();
    expect((await again('third'))[0]?.state).toBe('awaiting_approval');
    await page.getByRole('button', { name: 'New grant…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Tool', { exact: true }).fill('delete_file');
    await dialog.getByLabel(/Only when/).fill('args.path.startsWith("/tmp/")');
    await dialog.getByLabel('Reason').fill('scratch files');
    await dialog.getByLabel('Reason').press('Enter');
    await dialog.getByText(/it would have covered \d/).waitFor();
    // A key that repeats itself creates no grant whose preview nobody has read.
    await dialog.getByLabel('Reason').press('Enter');
    await dialog.getByLabel('Reason').press('Enter');
    await dialog.getByRole('button', { name: 'Preview' }).click();
    await dialog.getByRole('button', { name: 'Create the grant' }).click();
    await page.getByRole('row', { name: /arguments where args.path.startsWith/ }).waitFor();
    expect((await again('fourth'))[0]?.state).toBe('allowed');
    expect(complaints).toEqual([]);
  });
});
