import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { deriveCallId, policyStream, toolCallStream } from '@countersign/contracts';
import type { NewEvent } from '@countersign/contracts';
import { noStream, openEmbeddedEventStore } from '@countersign/event-store';
import { connectOf, openEventStoreDb } from '@countersign/event-store/eventstoredb';
import { sampleEvent } from '@countersign/event-store/testing';
import { systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { freePort } from '../ports.js';
import { openStoreServer, storeUrl, writeTokens } from '../process/cluster/roles.js';
import { cleanUpAfterEach, onCleanup, temporaryFolder } from '../process/harness/cleanup.js';
import { startServer } from '../process/harness/server.js';
import { openInbox, openWorld, rowOf, useBrowser } from './harness/inbox.js';

/** A later version recorded an event of a new type on a call, and this version starts again. */
async function withLaterEvent() {
  const world = await openWorld();
  const [call, other] = await world.ask([{ toolName: 'wire' }, { toolName: 'mail' }]);
  if (call === undefined || other === undefined) throw new Error('both calls must be asked for');
  await world.stopAndRead();
  const store = await openEmbeddedEventStore({ folder: world.dataFolder, clock: systemClock, log: createSilentLog() });
  const stream = toolCallStream(call.callId);
  const end = (await store.readStream(stream)).at(-1)?.revision ?? 0;
  await store.append(stream, end, [{ ...sampleEvent(), type: 'ToolCallForgotten' as NewEvent['type'] }]);
  await store.close();
  rmSync(join(world.dataFolder, 'read-model.db'), { force: true });
  await world.restart();
  return { world, call, other };
}

/** A gateway, and what another version writes into its log. */
async function openGateway() {
  const { port: storePort } = await openStoreServer();
  const url = storeUrl(storePort);
  const [folder, port] = [temporaryFolder(), await freePort()];
  const env = { COUNTERSIGN_EVENTSTORE_URL: url, COUNTERSIGN_TOKENS_FILE: writeTokens() };
  const server = startServer({ folder, port, args: ['start', 'gateway'], env });
  await server.ready();
  const store = openEventStoreDb({ url, connect: await connectOf(url), clock: systemClock, log: createSilentLog() });
  onCleanup(store.close);
  return { server, store, port };
}

describe('an approval whose call has an event that cannot be read', () => {
  cleanUpAfterEach();
  const browser = useBrowser();

  it('says so in the list, on its card and on the page of the call, with the remedy, and has no button that decides', async () => {
    const { world, call } = await withLaterEvent();
    const { page } = await openInbox(browser(), world.url, 'bob');
    await page.getByRole('button', { name: 'All 2', exact: true }).click();
    const row = page.getByRole('list', { name: 'Pending approvals' }).getByRole('link', { name: /wire/ });
    await row.getByText('cannot be read').waitFor();
    expect(await page.getByLabel('Select wire').count()).toBe(0);
    expect(await page.getByLabel('Select mail').count()).toBe(1);
    await row.click();
    await page.getByText(/^toolCall-.* has an event that this version cannot read.* upgrade Countersign/).waitFor();
    for (const name of ['Approve', 'Deny', 'Edit…', 'Answer…']) {
      expect(await page.getByRole('button', { name, exact: true }).count()).toBe(0);
    }
    await page.goto(`${world.url}/calls/${call.callId}`);
    await page.getByText(/Cannot be read, so nothing is decided: its type is unknown .* upgrade Countersign/).waitFor();
  });

  it('loses the buttons of an open card, and so do all when the policy cannot be read', async () => {
    const { server, store, port } = await openGateway();
    const calls = ['wire', 'mail'].map((toolName) => ({
      toolName,
      toolCallId: toolName,
      arguments: {},
      needsApproval: true,
    }));
    await server.http.send({
      method: 'POST',
      path: '/v1/tool-calls',
      token: 'agent-token',
      body: { runId: 'run-1', calls },
    });
    const { page } = await openInbox(browser(), `http://127.0.0.1:${String(port)}`, 'ann');
    const approve = page.getByRole('button', { name: 'Approve', exact: true });
    const later = { ...sampleEvent(), type: 'ToolCallForgotten' as NewEvent['type'] };

    await rowOf(page, 'wire').click();
    await approve.waitFor();
    await store.append(toolCallStream(deriveCallId('default', 'run-1', 'wire')), 1, [later]);
    await page.getByText(/has an event that this version cannot read.* upgrade Countersign/).waitFor();
    expect(await approve.count()).toBe(0);

    await rowOf(page, 'mail').click();
    await approve.waitFor();
    await store.append(policyStream('default'), noStream, [{ ...sampleEvent(), type: 'PolicyActivated' }]);
    await page.getByText(/^policy-default has an event that this version cannot read/).waitFor();
    expect(await approve.count()).toBe(0);
  });
});
