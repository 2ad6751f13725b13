import { generateKeyPairSync } from 'node:crypto';
import { createVirtualClock } from '@countersign/runtime/testing';
import { createRequestKeys } from './request-keys.js';
import { callOf, openLedgerWorld, requestMessage } from './testing/ledger-world.js';
import type { LedgerWorld } from './testing/ledger-world.js';
import { signRequest } from './testing/sign-request.js';

const pair = generateKeyPairSync('ed25519');
const now = Date.UTC(2030, 0, 1);

describe('unsigned producers', () => {
  let world: LedgerWorld;
  beforeEach(async () => {
    const publicKey = pair.publicKey.export({ format: 'jwk' });
    const keys = await createRequestKeys([{ kid: 'billing', publicKey, principal: 'billing', agentIds: ['*'] }]);
    const unsigned = { mode: 'allow', tenant: 'default', principal: 'kafka' } as const;
    world = await openLedgerWorld({ keys, unsigned, clock: createVirtualClock(now) });
  });
  afterEach(async () => {
    await world.close();
  });
  const from = (ce_source: string, type: string, data: object) =>
    world.deliver(requestMessage(type, data, { ce_source }));
  let sent = 0;
  const signed = async (ce_type: string, data: object) => {
    const ce_id = `signed-${(sent += 1)}`;
    const claims = { ce_id, ce_type, iat: now / 1000, aud: 'default/requests' };
    const value = JSON.stringify(data);
    const signature = await signRequest(value, claims, { kid: 'billing', alg: 'EdDSA', privateKey: pair.privateKey });
    return world.deliver(requestMessage(ce_type, value, { ce_id, 'countersign-signature': signature }));
  };
  const cancel = { runId: 'run-1', toolCallId: 'a', reason: 'x' };

  it('are one principal: each may cancel the calls of the others and submit their outputs', async () => {
    const client = { needsApproval: false, clientExecuted: true };
    await from('/producer-1', 'ToolCallRequested', { runId: 'run-1', calls: [callOf('a'), callOf('b', client)] });
    await from('/producer-2', 'ToolCallCancelled', cancel);
    const output = { runId: 'run-1', toolCallId: 'b', status: 'succeeded', output: 1 };
    await from('/producer-2', 'ToolOutputSubmitted', output);
    expect([await world.state('a'), await world.state('b')]).toEqual(['cancelled', 'succeeded']);
  });

  it.each([
    ['an unsigned message cannot cancel a signed call', 'signed'],
    ['a signed message cannot cancel an unsigned call', 'unsigned'],
  ])('are no signed one: %s', async (_, first) => {
    const request = { runId: 'run-1', agentId: 'agent', calls: [callOf('a')] };
    if (first === 'signed') {
      await signed('ToolCallRequested', request);
      await from('/producer-1', 'ToolCallCancelled', cancel);
    } else {
      await from('/producer-1', 'ToolCallRequested', { ...request, agentId: 'kafka' });
      await signed('ToolCallCancelled', cancel);
    }
    expect(await world.state('a')).toBe('awaiting_approval');
    expect(await world.refusals()).toEqual([expect.objectContaining({ code: 'forbidden' })]);
  });
});
