import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { toolCallStream } from '@countersign/contracts';
import type { NewEvent } from '@countersign/contracts';
import { openEmbeddedEventStore } from '@countersign/event-store';
import { sampleEvent } from '@countersign/event-store/testing';
import { systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { cleanUpAfterEach } from '../process/harness/cleanup.js';
import { openInbox, openWorld, useBrowser } from './harness/inbox.js';

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

describe('an approval whose call has an event that cannot be read', () => {
  cleanUpAfterEach();
  const browser = useBrowser();

  it('says so in the list, on its card and on the page of the call, with the remedy, and has no button that decides', async () => {
    const { world, call } = await withLaterEvent();
    const { page } = await openInbox(browser(), world.url, 'bob');
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
});
