import { expect, it } from '@jest/globals';
import { createClient } from './client.js';
import { proveMayClaim } from './may-claim.js';
import { createFakeCountersign } from '../testing/fake-countersign.js';

const url = 'http://fake.test';

/** An agent with one call, and a resolver: of the same tenant, or of another one, which has no calls. */
async function tokens(isSameTenant: boolean) {
  const countersign = createFakeCountersign();
  const agent = createClient({ url, token: 'agent', fetch: countersign.fetch });
  const call = { toolCallId: 'c', toolName: 'refund', arguments: {}, needsApproval: false };
  await agent.requestToolCalls({ runId: 'r', agentId: 'agent', calls: [call] });
  const { fetch } = isSameTenant ? countersign : createFakeCountersign();
  return { agent, resolver: createClient({ url, token: 'resolver', fetch }), countersign };
}

it('refuses a resolver of another tenant than the agent, which would not find the calls', async () => {
  const { agent, resolver } = await tokens(false);
  await expect(proveMayClaim(resolver, { agent })).rejects.toMatchObject({
    code: 'not-found',
    message: "the resolver token is of another tenant than the agent's token. Make both tokens for one tenant.",
  });
});

it('takes a resolver of the same tenant, and claims nothing', async () => {
  const { agent, resolver, countersign } = await tokens(true);
  await proveMayClaim(resolver, { agent });
  expect(countersign.callOf('c').state).toBe('allowed');
});

it('takes a resolver when the agent has no calls yet', async () => {
  const { resolver } = await tokens(true);
  const agent = createClient({ url, token: 'agent', fetch: createFakeCountersign().fetch });
  await proveMayClaim(resolver, { agent });
});
