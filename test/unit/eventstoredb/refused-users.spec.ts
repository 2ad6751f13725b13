import { describe, expect, it } from '@jest/globals';
import { noStream } from '@countersign/event-store';
import type { LogEvent } from '@countersign/contracts';
import { sampleEvents, sampleStream } from '@countersign/event-store/testing';
import { secureStore } from '@countersign/event-store/eventstoredb';
import { systemClock } from '@countersign/runtime';
import { cleanUpAfterEach, openReadyStore, openStore, patient, startSecuredServer, until } from './harness.js';

cleanUpAfterEach();

const wrongUser = 'the name or the password of the connection string is wrong, or the user is disabled';
const noRight = 'may not read $all';

async function world() {
  const { server, as } = await startSecuredServer();
  const url = as('countersign:service-secret');
  await secureStore(as('admin:admin-secret'), url, systemClock);
  return { server, url, as };
}

/** Why a store cannot read the log; `nothing` where it can. */
async function whyNotRead(url: string): Promise<string> {
  const { store } = openStore(url, patient);
  return store.readAll(0, 1).then(
    () => 'nothing',
    (error: unknown) => (error as Error).message,
  );
}

describe('the service is told', () => {
  it.each(['countersign:wrong', 'stranger:service-secret'])('that %s is not accepted', async (login) => {
    const { as } = await world();
    const why = await whyNotRead(as(login));
    expect(why).toContain(wrongUser);
    expect(why).not.toContain('wrong@');
  });

  it('that its user is disabled', async () => {
    const { server, url } = await world();
    server.users.find('countersign')!.isDisabled = true;
    expect(await whyNotRead(url)).toContain(wrongUser);
  });

  it('that its user lacks a right', async () => {
    const { server, as } = await world();
    server.users.create('other', 'other-secret', []);
    expect(await whyNotRead(as('other:other-secret'))).toContain(noRight);
  });

  it('while it runs, and goes on by itself once the password is right again', async () => {
    const { server, url } = await world();
    const { store } = await openReadyStore(url, { timeouts: { ...patient.timeouts, probeMs: 100 } });
    const seen: LogEvent[] = [];
    const errors: unknown[] = [];
    store.subscribe(0, { onEvents: (events) => void seen.push(...events), onError: (error) => errors.push(error) });
    await store.append(sampleStream(), noStream, sampleEvents(1));
    await until(() => seen.length === 1, 'the first event');
    server.users.setPassword('countersign', 'another');
    server.wake();
    await until(() => JSON.stringify(store.health()).includes(wrongUser), 'the refusal');
    server.users.setPassword('countersign', 'service-secret');
    await until(() => store.health().status === 'ok', 'the store');
    await store.append(sampleStream(), noStream, sampleEvents(1));
    await until(() => seen.length === 2, 'the second event');
    expect(errors).toEqual([]);
  });
});
