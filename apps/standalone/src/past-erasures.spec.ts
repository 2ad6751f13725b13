import { expect, it } from '@jest/globals';
import type { ErasureView } from '@countersign/contracts';
import { actor, callIdOf, prepareErasing, subject } from './testing/erasing.js';

const { request, run, erase, past, stores } = prepareErasing();

it('tells by whom, when and why a subject was erased, and which calls and fields became unreadable', async () => {
  await request('a');
  await run('a');
  await request('other', { labels: { subject: 'customer-7' } });
  expect(await past({ subject })).toEqual([]);
  const view = (await erase({ reason: 'asked' })) as ErasureView;
  await request('later');
  const [erasure, ...others] = await past({ subject });
  expect(others).toEqual([]);
  expect(erasure).toMatchObject({
    ...{ erasedBy: 'me', erasedAt: view.erasedAt, reason: 'asked', requestedBy: null, values: 2, clearValues: 0 },
    calls: [{ callId: callIdOf('a'), fields: ['/arguments/password', '/output/token'] }],
    ...{ complete: true, stream: view.stream },
  });
  const [proof] = await stores().store.readStream(view.stream ?? '');
  expect(erasure).toMatchObject({ eventId: proof?.eventId, position: proof?.position });
  for (const query of [{}, { callId: callIdOf('a') }, { callId: callIdOf('a'), subject }])
    expect(await past(query)).toEqual([erasure]);
  expect(await past({ callId: callIdOf('a'), subject: 'customer-7' })).toEqual([]);
  for (const none of ['later', 'other', 'stranger']) expect(await past({ callId: callIdOf(none) })).toEqual([]);
  expect(await past({ subject: 'customer-7' })).toEqual([]);
  expect(await past({ subject }, 'another')).toEqual([]);
});

it('tells of which principal the values were, where an erasure named one', async () => {
  await request('a');
  await run('a');
  await request('b', {}, { ...actor, principal: 'you' });
  await erase({ requestedBy: 'me' });
  const erasures = await past({ subject });
  expect(erasures).toMatchObject([{ requestedBy: 'me', calls: [{ callId: callIdOf('a') }] }]);
});
