import { generateKeyPairSync } from 'node:crypto';
import type { Message } from '@countersign/message-bus';
import { Dispatcher, eventually } from '@countersign/message-bus/testing';
import { createVirtualClock } from '@countersign/runtime/testing';
import type { VirtualClock } from '@countersign/runtime/testing';
import { isTransientFailure } from './ledger.js';
import type { Ledger } from './ledger.js';
import { createRequestKeys } from './request-keys.js';
import type { RequestKey } from './request-keys.js';
import { callOf, openLedgerWorld, requestMessage } from './testing/ledger-world.js';
import type { LedgerWorld } from './testing/ledger-world.js';
import { signRequest } from './testing/sign-request.js';

const pairs = {
  billing: generateKeyPairSync('ed25519'),
  evil: generateKeyPairSync('ed25519'),
  /** The next key of the principal billing. */
  next: generateKeyPairSync('ed25519'),
};
type Sender = keyof typeof pairs;

describe('a producer among others', () => {
  let world: LedgerWorld;
  let clock: VirtualClock;
  let dispatcher: Dispatcher;
  let [isRevoked, isOldGone, rotations] = [false, false, 0];
  const handled: string[] = [];
  const parked: Message[] = [];

  async function open(requestsPerSecond?: number): Promise<void> {
    const known = await createRequestKeys(
      (['billing', 'evil', 'next'] as const).map((kid) => {
        const publicKey = pairs[kid].publicKey.export({ format: 'jwk' });
        return { kid, publicKey, principal: kid === 'next' ? 'billing' : kid, agentIds: [] };
      }),
    );
    [isRevoked, isOldGone, rotations] = [false, false, 0];
    const read = new Map<string, RequestKey | undefined>();
    const find = (kid: string): RequestKey | undefined => {
      if (isRevoked || (isOldGone && kid === 'billing')) return undefined;
      const name = `${kid} ${String(rotations)}`;
      const found = known.find(kid);
      if (!read.has(name)) read.set(name, found && { ...found });
      return read.get(name);
    };
    const keys = { find };
    clock = createVirtualClock(Date.UTC(2030, 0, 1));
    const unsigned = { mode: 'refuse', tenant: 'default', principal: 'kafka' } as const;
    world = await openLedgerWorld({ keys, unsigned, clock, requestsPerSecond });
    dispatcher = newDispatcher(world.ledger);
  }
  const newDispatcher = ({ placeOf, takeTurn, handle }: Ledger): Dispatcher => {
    const onMessage: Ledger['handle'] = async (message, delivery) => {
      await handle(message, delivery);
      handled.push(message.headers['ce_id'] ?? '');
    };
    const consumer = { onMessage, placeOf, takeTurn, isTransient: isTransientFailure, concurrency: 4 };
    const park = async (message: Message): Promise<void> => void parked.push(message);
    return new Dispatcher({ consumer, park, clock, log: world.log });
  };
  afterEach(async () => {
    await dispatcher.stop();
    await world.close();
    handled.length = parked.length = 0;
  });

  let sent = 0;
  const signed = async (sender: Sender, ce_type: string, data: object, key?: string) => {
    const value = JSON.stringify(data);
    const ce_id = `${sender}-${String((sent += 1))}`;
    const claims = { ce_id, ce_type, iat: clock.now() / 1000, aud: 'default/requests' };
    const { privateKey } = pairs[sender];
    const signature = await signRequest(value, claims, { kid: sender, alg: 'EdDSA', privateKey });
    const message = requestMessage(ce_type, value, { ce_id, 'countersign-signature': signature });
    return key === undefined ? message : { ...message, key };
  };
  const submit = (messages: readonly Message[]): void => {
    for (const message of messages) void dispatcher.submit(message, () => undefined);
  };
  const send = async (...given: Parameters<typeof signed>): Promise<void> => submit([await signed(...given)]);
  const step = { runId: 'run-1', calls: [callOf('a')] };
  const about = { runId: 'run-1', toolCallId: 'a' };
  const ofBilling = (): readonly string[] => handled.filter((id) => id.startsWith('billing'));

  it.each([
    ['under the key of its run', 'evil-run'],
    ['and name its run', 'run-1'],
  ])('is handled at once, though messages of another that wait for unknown calls come first %s', async (_, runId) => {
    await open();
    const early = Array.from({ length: 40 }, (_one, n) =>
      signed('evil', 'ToolCallCancelled', { runId, toolCallId: `unknown-${String(n)}`, reason: 'x' }, 'run-1'),
    );
    submit(await Promise.all(early));
    await send('billing', 'ToolCallRequested', step);
    await send('billing', 'ToolCallCancelled', { ...about, reason: 'no longer' });
    // The clock stands still: no retry comes.
    await eventually(async () => expect(await world.state('a')).toBe('cancelled'));
    await eventually(() => expect(handled).toHaveLength(runId === 'run-1' ? 2 : 42));
  });

  it('is handled at once, though its own messages about unknown calls of the same run come first', async () => {
    await open();
    for (const toolCallId of ['b', 'c', 'd'])
      await send('billing', 'ApprovalRequested', { runId: 'run-1', toolCallId });
    await send('billing', 'ToolCallRequested', step);
    await eventually(async () => expect(await world.state('a')).toBe('awaiting_approval'));
    expect(handled).toHaveLength(1);
  });

  it('has its messages about one call carried out in their order, though the first ones come too early', async () => {
    await open();
    await send('billing', 'ApprovalRequested', { ...about, reason: 'outside' });
    await send('billing', 'ToolCallCancelled', { ...about, reason: 'no longer' });
    await send('billing', 'ToolCallRequested', { ...step, calls: [callOf('a', { needsApproval: false })] });
    await eventually(() => expect(handled).toHaveLength(1));
    await clock.advanceAsync(100);
    await eventually(() => expect(handled).toHaveLength(3));
    expect(await world.types()).toEqual([
      'ToolCallRequested',
      'ToolCallAllowed',
      'ApprovalRequested',
      'ToolCallCancelled',
    ]);
    expect(await world.refusals()).toEqual([]);
  });

  it('is told "not requested" of calls that never come, and nothing waits then', async () => {
    await open();
    for (const reason of ['x', 'y', 'z']) await send('billing', 'ToolCallCancelled', { ...about, reason });
    // Each is tried again after 100, 200 and 400 ms.
    await eventually(async () => {
      await clock.advanceAsync(100);
      expect(await world.refusals()).toHaveLength(3);
    });
    await eventually(() => expect(dispatcher.inFlight).toBe(0));
    const refused = (await world.refusals()) as readonly { readonly code: string }[];
    expect([refused.map(({ code }) => code), parked]).toEqual([Array.from({ length: 3 }, () => 'not-requested'), []]);
  });

  it.each(['signed and refused', 'without a proven sender'] as const)(
    'is handled among the first, though hundreds of another come before: %s',
    async (kind) => {
      await open();
      const flood = Array.from({ length: 500 }, async (_one, n) =>
        kind === 'signed and refused'
          ? signed('evil', 'ToolCallCancelled', { runId: `evil-${String(n)}`, reason: 'x' })
          : requestMessage('ToolCallRequested', step, { ce_id: `evil-unsigned-${String(n)}` }),
      );
      submit(await Promise.all(flood));
      await send('billing', 'ToolCallRequested', step);
      await eventually(() => expect(handled.length).toBe(501), 30_000);
      // Those whose places were found before, and then it has its turn.
      expect(handled.indexOf(ofBilling()[0] ?? '')).toBeLessThan(250);
    },
  );

  it('waits beyond its rate, and loses nothing; others have their own rate', async () => {
    await open(2);
    for (const toolCallId of ['a', 'b', 'c'])
      await send('evil', 'ToolCallRequested', { runId: 'e', calls: [callOf(toolCallId)] });
    await send('billing', 'ToolCallRequested', step);
    await eventually(() => expect(handled).toHaveLength(3));
    expect(ofBilling()).toHaveLength(1);
    await clock.advanceAsync(500);
    await eventually(() => expect(handled).toHaveLength(4));
    expect(await world.refusals()).toEqual([]);
  });

  it('is not delayed by copies of its own message, which another sends again by hundreds', async () => {
    await open(2);
    const message = await signed('billing', 'ToolCallRequested', step);
    submit([message]);
    await eventually(() => expect(handled).toHaveLength(1));
    submit(Array.from({ length: 200 }, () => ({ ...message })));
    await send('billing', 'ToolCallRequested', { runId: 'run-2', calls: [callOf('b')] });
    await eventually(async () => expect(await world.state('b', 'run-2')).toBe('awaiting_approval'));
    expect(await world.refusals()).toEqual([]);
  });

  it('loses and repeats nothing while its keys are rotated, and a copy that comes days later adds nothing', async () => {
    await open();
    const steps = Array.from({ length: 60 }, (_one, n) =>
      signed(n % 2 === 0 ? 'billing' : 'next', 'ToolCallRequested', {
        runId: `run-${String(n)}`,
        calls: [callOf('a')],
      }),
    );
    const messages = await Promise.all(steps);
    submit(messages);
    for (const message of messages) {
      // The file is read again: every key is another object, and waiting messages are proven anew.
      rotations += 1;
      submit([message]);
    }
    await eventually(() => expect(handled).toHaveLength(120), 30_000);
    const recorded = (await world.types()).filter((type) => type === 'ToolCallRequested');
    expect([recorded.length, await world.refusals()]).toEqual([60, []]);
    await clock.advanceAsync(3 * 24 * 60 * 60 * 1000);
    const late = await signed('next', 'ToolCallRequested', { runId: 'late', calls: [callOf('a')] });
    submit(messages);
    await eventually(() => expect(handled).toHaveLength(180), 30_000);
    expect(await world.refusals()).toEqual([]);
    // Days later the old key is gone: what it signed is no request any more, and is told from a recorded one by nobody.
    isOldGone = true;
    submit([late, ...messages]);
    await eventually(() => expect(handled).toHaveLength(241), 30_000);
    const refused = (await world.refusals()) as readonly { readonly code: string }[];
    expect([refused.length, new Set(refused.map(({ code }) => code))]).toEqual([30, new Set(['unauthenticated'])]);
    expect((await world.types()).filter((type) => type === 'ToolCallRequested')).toHaveLength(61);
  });

  it('whose key is revoked while its message waits is refused', async () => {
    await open();
    const message = await signed('billing', 'ToolCallRequested', step);
    const { placeOf, handle } = world.ledger;
    expect(await placeOf(message)).toEqual({ holder: 'default\nbilling', lane: 'run-1' });
    isRevoked = true;
    await handle(message, { attempt: 1 });
    expect(await world.refusals()).toMatchObject([{ code: 'unauthenticated' }]);
  });
});
