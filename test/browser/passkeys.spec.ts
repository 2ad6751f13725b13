import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { cleanUpAfterEach, temporaryFolder } from '../process/harness/cleanup.js';
import { freePort } from '../ports.js';
import { openInbox, openWorld, useBrowser } from './harness/inbox.js';

const policy = `
version: 1
rules:
  - { id: pay, match: { tools: [pay] }, then: { require: { requireSignature: true } } }
`;

/** A passkey in the device of the person, which verifies them at once. */
async function addAuthenticator(page: Page): Promise<void> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true },
      ...{ isUserVerified: true, automaticPresenceSimulation: true },
    },
  });
}

describe('a person who signs with a passkey', () => {
  cleanUpAfterEach();
  const browser = useBrowser();

  it('registers one, approves a call of a rule that asks for signatures, and cannot with a removed one', async () => {
    const file = join(temporaryFolder(), 'policy.yaml');
    writeFileSync(file, policy);
    const port = await freePort();
    const url = `http://localhost:${String(port)}`;
    const world = await openWorld({ COUNTERSIGN_POLICY: file, COUNTERSIGN_PUBLIC_URL: url }, port);
    const pay = {
      toolName: 'pay',
      description: 'Pay the bill',
      labels: { team: 'ops' },
      arguments: { amount: 5, token: 'x' },
    };
    const [first] = await world.ask([pay]);
    const { page, complaints } = await openInbox(browser(), url, 'ann');
    await addAuthenticator(page);
    await page.goto(`${url}/approvals/${first?.approval?.approvalId ?? ''}`);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('You have no passkey that counts here.').waitFor();

    await page.getByRole('link', { name: 'Passkeys' }).click();
    await page.getByLabel('Name').fill('laptop');
    await page.getByRole('button', { name: 'Register a passkey' }).click();
    await page.getByText('laptop signs your answers').waitFor();

    await page.goto(`${url}/approvals/${first?.approval?.approvalId ?? ''}`);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page
      .getByText(/approved/i)
      .first()
      .waitFor();
    const call = await world.send('agent', 'GET', `/v1/tool-calls/${first?.callId ?? ''}`);
    expect(call).toMatchObject({ state: 'approved', approval: { responses: [{ respondedBy: 'ann', signed: true }] } });
    await world.send('worker', 'POST', `/v1/tool-calls/${first?.callId ?? ''}/claim`, { resolverId: 'w' });

    const [second] = await world.ask([pay]);
    await page.goto(`${url}/passkeys`);
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('laptop signs your answers').waitFor({ state: 'detached' });
    await page.goto(`${url}/approvals/${second?.approval?.approvalId ?? ''}`);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('You have no passkey that counts here.').waitFor();
    expect(await world.send('agent', 'GET', `/v1/tool-calls/${second?.callId ?? ''}`)).toMatchObject({
      state: 'awaiting_approval',
    });
    expect(complaints).toEqual([]);
  });
});
