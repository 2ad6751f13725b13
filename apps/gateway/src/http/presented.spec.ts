import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApprovalView, ToolCallView } from '@countersign/contracts';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

let world: World;
let api: Api;
beforeAll(async () => {
  world = await openWorld();
  api = createApi(world);
});
afterAll(() => world.close());

const presented = {
  title: 'Delete the hosts file',
  toolDescription: 'Deletes a file',
  metadata: {
    ticket: 'INC-4711',
    apiKey: 'sk-live-1',
    more: { password: 'sesame', page: 'https://x.example/?token=abc' },
  },
};
const masked = {
  ...presented,
  metadata: {
    ticket: 'INC-4711',
    apiKey: '[masked]',
    more: { password: '[masked]', page: expect.not.stringContaining('abc') as unknown },
  },
};

describe('title, tool description and metadata of a call', () => {
  it('are in the call and its approval, for the agent whole, and for people with secrets masked by name', async () => {
    const call = await api.request({ needsApproval: true, ...presented });
    expect(call).toMatchObject(presented);
    expect(call.approval).toMatchObject(presented);
    const approvalId = call.approval?.approvalId ?? '';
    expect((await api.send<ApprovalView>('GET', `/v1/approvals/${approvalId}`, { as: 'ann' })).body).toMatchObject(
      masked,
    );
    const asPerson = await api.send<ToolCallView>('GET', `/v1/tool-calls/${call.callId}`, { as: 'ann' });
    expect(asPerson.body).toMatchObject(masked);
    expect(JSON.stringify(asPerson.body)).not.toMatch(/sesame|sk-live-1/);
  });

  it('are null where the agent sends none', async () => {
    const call = await api.request({ needsApproval: true });
    for (const name of ['title', 'toolDescription', 'metadata']) {
      expect(call).toHaveProperty(name, null);
      expect(call.approval).toHaveProperty(name, null);
    }
  });

  it('are no part of the digest: a repeat with other words is the same call, and the first words stay', async () => {
    const body = (title: string) => ({
      runId: 'run-again',
      calls: [{ toolCallId: 'a', toolName: 't', arguments: {}, title }],
    });
    type Answer = { calls: ToolCallView[] };
    const first = await api.send<Answer>('POST', '/v1/tool-calls', { body: body('one') });
    const again = await api.send<Answer>('POST', '/v1/tool-calls', { body: body('two') });
    expect([first.status, again.status]).toEqual([201, 200]);
    expect(again.body.calls[0]).toMatchObject({ title: 'one', actionDigest: first.body.calls[0]?.actionDigest });
  });

  it.each([
    [413, { metadata: { text: 'x'.repeat(8190) } }, 'calls.0.metadata'],
    [400, { metadata: 'text' }, 'calls.0.metadata'],
    [400, { metadata: [] }, 'calls.0.metadata'],
    [400, { title: 'x'.repeat(257) }, 'calls.0.title'],
    [400, { toolDescription: 'x'.repeat(8193) }, 'calls.0.toolDescription'],
  ])('%s: refuses what is too long or of another type (%#)', async (status, more, path) => {
    const body = { runId: 'run-refused', calls: [{ toolCallId: 'a', toolName: 't', arguments: {}, ...more }] };
    const answer = await api.send<{ errors: { path: string }[] }>('POST', '/v1/tool-calls', { body });
    expect([answer.status, answer.body.errors.map((one) => one.path)]).toEqual([status, [path]]);
  });

  it('takes 8 KiB of metadata', async () => {
    const metadata = { text: 'x'.repeat(8 * 1024 - '{"text":""}'.length) };
    expect((await api.request({ metadata })).metadata).toEqual(metadata);
  });
});
