import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { cleanUpAfterEach, temporaryFolder } from '../process/harness/cleanup.js';
import { openInbox, openWorld, useBrowser } from './harness/inbox.js';

const policy = `
version: 1
approvers:
  - { id: ann, groups: [ops] }
  - { id: bob, groups: [ops, security] }
rules:
  - id: refunds
    match: { tools: [refund_order] }
    then:
      require:
        stages:
          - { quorum: { approve: 2, deny: 1, of: [ops, security] } }
          - { anyOf: [security] }
        expiresIn: 30m
        onTimeout: escalate
        escalation: [{ to: [managers], expiresIn: 20m }]
        reminders: [10m]
        requireReason: [deny]
        risk: high
`;

async function openPoliced() {
  const file = join(temporaryFolder(), 'policy.yaml');
  writeFileSync(file, policy.replace('approvers:', 'approvers:\n  - { id: carol, groups: [managers] }'));
  return openWorld({ COUNTERSIGN_POLICY: file });
}

describe('the people of a decision', () => {
  cleanUpAfterEach();
  const browser = useBrowser();

  it('are shown: each stage and who is missing, what happens by itself, and what became of the call', async () => {
    const world = await openPoliced();
    const [refund] = await world.ask([{ toolName: 'refund_order', arguments: { amount: 500 } }]);
    const { page, complaints } = await openInbox(browser(), world.url, 'ann');
    const stages = page.getByRole('list', { name: 'Stages' }).getByRole('listitem');
    await stages.filter({ hasText: 'Now 2 approvers of ops or security: none yet' }).waitFor();
    await stages.filter({ hasText: 'Then 1 approver of security' }).waitFor();
    expect(await page.getByRole('list', { name: 'Without an answer' }).getByRole('listitem').allTextContents()).toEqual(
      [
        expect.stringMatching(/^in 9 min: the approvers are reminded$/),
        expect.stringMatching(/^in 29 min: people of managers are asked as well$/),
        expect.stringMatching(/^in 49 min: it expires, and the tool does not run$/),
      ],
    );
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByRole('button', { name: 'Approve refund_order' }).click();
    await stages.filter({ hasText: 'ann approved, 1 more of ops or security' }).waitFor();
    // The edit of another person makes her approval void.
    const path = `/v1/approvals/${refund?.approval?.approvalId ?? ''}/responses`;
    await world.send('bob', 'POST', path, { decision: { type: 'edit', arguments: { amount: 400 } } });
    await page.getByText(/ann approved this .*no longer counts/).waitFor();
    await stages.filter({ hasText: 'bob approved, 1 more of ops or security' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('hear whether the call ran: on its card, in the history and on the page of the call', async () => {
    const world = await openWorld();
    const [call] = await world.ask([{ toolName: 'delete_file' }]);
    const approvalId = call?.approval?.approvalId ?? '';
    await world.send('bob', 'POST', `/v1/approvals/${approvalId}/responses`, { decision: { type: 'approve' } });
    const card = await openInbox(browser(), `${world.url}/approvals/${approvalId}`, 'ann');
    const after = card.page.getByRole('region', { name: 'After the decision' });
    await after.getByText('It may run and has not started.').waitFor();
    const history = await openInbox(browser(), `${world.url}/history`, 'ann');
    const row = history.page.getByRole('row', { name: /delete_file/ });
    await row.waitFor();
    const run = (what: string, body: unknown) =>
      world.send('worker', 'POST', `/v1/tool-calls/${call?.callId ?? ''}/${what}`, body);
    await run('claim', { resolverId: 'worker-1' });
    await after.getByText('The tool is running now.').waitFor();
    await row.getByText('executing').waitFor();
    await run('outcome', { attempt: 1, status: 'succeeded', output: { rows: 3 } });
    await after.getByText('"rows": 3').waitFor();
    await row.getByText('succeeded').waitFor();
    expect([...card.complaints, ...history.complaints]).toEqual([]);
  });

  it('see which calls a denial cancels, and can answer a whole step after a preview of what they may decide', async () => {
    const world = await openPoliced();
    const step = [
      { toolName: 'deploy_a', toolCallId: 'a' },
      { toolName: 'deploy_b', toolCallId: 'b', arguments: { of: 'b' } },
      { toolName: 'refund_order', toolCallId: 'c', arguments: { amount: 500 } },
    ];
    const calls = await world.ask(step, { batchId: 'step-1', batchMode: 'all-or-nothing' });
    const { page, complaints } = await openInbox(browser(), world.url, 'me');
    await page.getByText('This call runs only together with 2 other calls. If it is denied, all of them').waitFor();
    await page.getByRole('list', { name: 'Other calls of the step' }).getByText('of: b').waitFor();
    await page.getByRole('button', { name: 'Review all 3 of the step …' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('it permits no later one').waitFor();
    // The rule of the refund asks others than this person.
    await dialog.getByRole('row', { name: /refund_order .* left out: Others are asked/ }).waitFor();
    await dialog.getByRole('button', { name: 'Approve 2' }).click();
    await page.getByText('Approved: 2 calls').waitFor();
    const stateOf = async (index: number) =>
      (await world.send<{ state: string }>('me', 'GET', `/v1/tool-calls/${calls[index]?.callId ?? ''}`)).state;
    expect(await Promise.all([0, 1, 2].map(stateOf))).toEqual(['approved', 'approved', 'awaiting_approval']);
    expect(complaints).toEqual([]);
  });

  it('have no buttons where they may not decide, and read why', async () => {
    const world = await openPoliced();
    await world.ask([{ toolName: 'refund_order', arguments: { amount: 500 } }]);
    const { page, complaints } = await openInbox(browser(), world.url, 'me');
    await page.getByText('Nothing waits for you.').waitFor();
    expect(await page.getByRole('navigation', { name: 'Main' }).innerText()).toMatch(/Pending\s+0\b/);
    await page.getByRole('button', { name: 'Show all 1' }).click();
    await page.getByText('You can look, not decide. Others are asked to answer this approval.').waitFor();
    expect(await page.getByRole('button', { name: /^(Approve|Deny|Edit…|Answer…)$/ }).count()).toBe(0);
    expect(await page.getByRole('checkbox', { name: /^Select/ }).count()).toBe(0);
    for (const key of ['a', 'd', 'e', 'r', 'x']) await page.keyboard.press(key);
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.getByText('1 shown').waitFor();
    expect(complaints).toEqual([]);
  });
});
