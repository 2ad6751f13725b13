import { generateKeyPairSync } from 'node:crypto';
import type { RecordedEvent } from '@countersign/contracts';
import { createVirtualClock } from '@countersign/runtime/testing';
import type { VirtualClock } from '@countersign/runtime/testing';
import { createRequestKeys } from './request-keys.js';
import { callOf, openLedgerWorld, requestMessage } from './testing/ledger-world.js';
import type { Delivered, LedgerWorld } from './testing/ledger-world.js';
import { signRequest } from './testing/sign-request.js';

const pairs = { billing: generateKeyPairSync('ed25519'), evil: generateKeyPairSync('ed25519') };
type Sender = keyof typeof pairs;
const day = 86_400_000;

describe('what a sender is told', () => {
  let world: LedgerWorld;
  let clock: VirtualClock;
  beforeEach(async () => {
    const keys = await createRequestKeys(
      (['billing', 'evil'] as const).map((kid) => {
        const publicKey = pairs[kid].publicKey.export({ format: 'jwk' });
        return { kid, publicKey, tenant: 'acme', principal: kid, agentIds: [] };
      }),
    );
    clock = createVirtualClock(Date.UTC(2030, 0, 1));
    const unsigned = { mode: 'refuse', tenant: 'acme', principal: 'kafka' } as const;
    world = await openLedgerWorld({ keys, unsigned, clock, refusalRate: { burst: 5, perSecond: 1 } });
  });
  afterEach(() => world.close());

  const signed = async (sender: Sender, ce_type: string, data: object, ce_id: string) => {
    const value = JSON.stringify(data);
    const claims = { ce_id, ce_type, iat: clock.now() / 1000, aud: 'acme/requests' };
    const { privateKey } = pairs[sender];
    const signature = await signRequest(value, claims, { kid: sender, alg: 'EdDSA', privateKey });
    return requestMessage(ce_type, value, { ce_id, 'countersign-signature': signature });
  };
  const send = async (...given: Parameters<typeof signed>): Promise<Delivered> => world.deliver(await signed(...given));
  const unsignedOne = (ce_id: string) =>
    requestMessage('ToolCallRequested', { runId: 'run-1', calls: [callOf('a')] }, { ce_id });
  const step = (...ids: readonly string[]) => ({ runId: 'run-1', calls: ids.map((id) => callOf(id)) });
  const cancel = { runId: 'run-1', toolCallId: 'a', reason: 'x' };
  const refusals = async (): Promise<readonly RecordedEvent[]> =>
    (await world.events()).filter(({ type }) => type === 'RequestRefused');
  const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n);

  it('names the principal that was proven, and none where none was', async () => {
    await send('billing', 'ToolCallRequested', step('a'), 'r-1');
    await send('evil', 'ToolCallCancelled', cancel, 'r-2');
    await send('evil', 'ApprovalResponded', cancel, 'r-3');
    await world.deliver(unsignedOne('r-4'));
    const tampered = await signed('evil', 'ToolCallCancelled', cancel, 'r-5');
    await world.deliver({ ...tampered, value: Buffer.from(JSON.stringify({ ...cancel, reason: 'y' })) });
    await world.deliver(requestMessage('ApprovalResponded', {}, { ce_id: 'r-6' }));
    const told = (await refusals()).map(({ data }) => data as { code: string; principal?: string });
    expect(told.map(({ code, principal }) => [code, principal])).toEqual([
      ['forbidden', 'evil'],
      ['forbidden', 'evil'],
      ['unauthenticated', undefined],
      ['unauthenticated', undefined],
      ['forbidden', undefined],
    ]);
  });

  it('is recorded although another principal is refused without end, with the same code', async () => {
    await send('billing', 'ToolCallRequested', step('a'), 'r-1');
    await send('evil', 'ToolCallRequested', { runId: 'run-2', calls: [callOf('b')] }, 'r-2');
    for (const n of numbers(20)) await send('evil', 'ToolCallCancelled', cancel, `flood-${String(n)}`);
    await send('billing', 'ToolCallCancelled', { ...cancel, runId: 'run-2', toolCallId: 'b' }, 'honest');
    const ids = (await refusals()).map(({ data }) => (data as { requestId: string }).requestId);
    expect(ids).toEqual(['flood-0', 'flood-1', 'flood-2', 'flood-3', 'flood-4', 'honest']);
  });

  it('is recorded although messages without a proven sender are refused without end, and they share one budget', async () => {
    await send('evil', 'ToolCallRequested', step('a'), 'r-1');
    for (const n of numbers(20)) await world.deliver(unsignedOne(`flood-${String(n)}`));
    await world.deliver(requestMessage('ApprovalResponded', {}, { ce_id: 'flood-of-another-code' }));
    await send('billing', 'ToolCallCancelled', cancel, 'honest');
    const ids = (await refusals()).map(({ data }) => (data as { requestId: string }).requestId);
    expect(ids).toEqual(['flood-0', 'flood-1', 'flood-2', 'flood-3', 'flood-4', 'honest']);
  });

  it.each([
    ['another run', 'run-2', 'another text'],
    ['no run', null, 'no key'],
    ['an empty text', '', 'another text'],
  ])('of a message whose key is %s: it must be the run, and nothing else is recorded', async (_, key, why) => {
    const message = { ...(await signed('billing', 'ToolCallRequested', step('a'), 'r-1')), key };
    expect(await world.deliver(message)).toEqual({ outcome: 'handled', attempts: 1, transient: 0 });
    expect(await world.types()).toEqual(['RequestRefused']);
    expect((await refusals())[0]).toMatchObject({
      metadata: { tenant: 'acme', runId: 'run-1' },
      data: { requestId: 'r-1', code: 'invalid-request', toolCallIds: ['a'], principal: 'billing' },
    });
    expect(JSON.stringify(await world.refusals())).toContain(why);
  });

  describe('when messages are delivered again after two days', () => {
    const client = { needsApproval: false, clientExecuted: true };

    it('is nothing, where they are recorded, and where they were refused', async () => {
      const messages = [
        await signed('billing', 'ToolCallRequested', step('a'), 'single'),
        await signed('billing', 'ToolCallRequested', step('b', 'c'), 'several'),
        await signed('billing', 'ToolCallRequested', { runId: 'run-1', calls: [callOf('d', client)] }, 'client'),
        await signed('billing', 'ApprovalRequested', { runId: 'run-1', toolCallId: 'a', reason: 'why' }, 'described'),
        await signed('billing', 'ToolCallCancelled', { ...cancel, toolCallId: 'b' }, 'cancelled'),
        await signed(
          'billing',
          'ToolOutputSubmitted',
          { runId: 'run-1', toolCallId: 'd', status: 'succeeded', output: 1 },
          'output',
        ),
        await signed('billing', 'ToolCallCancelled', { runId: 'run-1', reason: 'x' }, 'run cancelled'),
        await signed('evil', 'ToolCallCancelled', cancel, 'refused'),
        await signed('evil', 'ToolCallCancelled', { ...cancel, toolCallId: 'nobody' }, 'not requested'),
        await signed('evil', 'ApprovalResponded', {}, 'forged'),
        { ...(await signed('billing', 'ToolCallRequested', step('e'), 'misplaced')), key: 'run-2' },
      ];
      for (const message of messages) await world.deliver(message);
      const before = await world.types();
      expect((await refusals()).map(({ data }) => (data as { requestId: string }).requestId)).toEqual([
        'refused',
        'not requested',
        'forged',
        'misplaced',
      ]);
      clock.advance(2 * day);
      for (const message of messages) expect((await world.deliver(message)).outcome).toBe('handled');
      expect(await world.types()).toEqual(before);
    });

    it('is "unauthenticated" where nothing of them is recorded, without a principal: anybody may have kept a copy', async () => {
      const message = await signed('billing', 'ToolCallRequested', step('a'), 'r-1');
      clock.advance(2 * day);
      await world.deliver(message);
      expect(await world.types()).toEqual(['RequestRefused']);
      const [data] = await world.refusals();
      expect(data).toEqual(expect.objectContaining({ code: 'unauthenticated', requestId: 'r-1' }));
      expect(data).not.toHaveProperty('principal');
    });

    it('never takes from the budget of the principal that signed them', async () => {
      const old = await Promise.all(
        numbers(20).map((n) => signed('billing', 'ToolCallRequested', step(`old-${String(n)}`), `old-${String(n)}`)),
      );
      await send('evil', 'ToolCallRequested', step('a'), 'r-1');
      clock.advance(2 * day);
      for (const message of old) await world.deliver(message);
      await send('billing', 'ToolCallCancelled', cancel, 'honest');
      expect((await world.refusals()).at(-1)).toMatchObject({ requestId: 'honest', principal: 'billing' });
    });
  });
});
