import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApprovalView } from '@countersign/contracts';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { createTestPolicies } from '../testing/policies.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

const mebibyte = 1024 * 1024;
const large = 240_000;
const count = 5;

let world: World;
let api: Api;
beforeAll(async () => {
  world = await openWorld({ policies: createTestPolicies() });
  api = createApi(world);
  for (let nth = 0; nth < count; nth += 1) {
    const args = { path: `/x/${String(nth)}`, text: 'x'.repeat(large), token: 't'.repeat(1000) };
    const { approvalId } = await api.pending({ toolName: 'two_people', arguments: args, labels: { team: 'ops' } });
    for (const letter of ['a', 'b', 'c']) {
      const decision = { type: 'edit', arguments: { path: '/y', text: letter.repeat(large) } };
      const path = `/v1/approvals/${approvalId}/responses`;
      expect((await api.send('POST', path, { as: 'ann', body: { decision, reason: 'r'.repeat(8000) } })).status).toBe(
        200,
      );
    }
  }
});
afterAll(() => world.close());

interface Page {
  readonly approvals: readonly ApprovalView[];
  readonly nextCursor: string | null;
}

const listed = async (query: string) => {
  const approvals: ApprovalView[] = [];
  const bytes: number[] = [];
  const more = async (cursor: string): Promise<void> => {
    const { body } = await api.send<Page>('GET', `/v1/approvals?${query}${cursor}`, { as: 'ann' });
    approvals.push(...body.approvals);
    bytes.push(Buffer.byteLength(JSON.stringify(body)));
    if (body.nextCursor !== null) await more(`&cursor=${body.nextCursor}`);
  };
  await more('');
  return { approvals, bytes };
};

describe('a list of approvals of about 1 MiB each', () => {
  it('has less than 1 MiB as previews, which say what was cut', async () => {
    const { approvals, bytes } = await listed('preview=true');
    expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThan(count * 16 * 1024);
    expect(new Set(approvals.map(({ callId }) => callId)).size).toBe(count);
    const [first] = approvals;
    expect(first).toMatchObject({ isPreview: true, proposal: { number: 4 }, labels: { team: 'ops' } });
    expect(first?.arguments).toEqual({ path: '/y', text: `${'c'.repeat(400)}…⟦239,600 more characters⟧` });
    expect(first?.responses[0]?.reason).toBe(`${'r'.repeat(400)}…⟦7,600 more characters⟧`);
  });

  it('is whole without previews, in pages of one answer each', async () => {
    const { approvals, bytes } = await listed('limit=3');
    expect(new Set(approvals.map(({ callId }) => callId)).size).toBe(count);
    expect(Math.max(...bytes)).toBeLessThan(1.5 * mebibyte);
    expect(approvals.every((one) => one.isPreview === undefined && one.arguments['text'] === 'c'.repeat(large))).toBe(
      true,
    );
  });

  it('has the whole of each where it is read alone', async () => {
    const { approvals } = await listed('preview=true');
    const approvalId = approvals[0]?.approvalId ?? '';
    const { body } = await api.send<ApprovalView>('GET', `/v1/approvals/${approvalId}`, { as: 'ann' });
    expect([body.isPreview, body.arguments['text']]).toEqual([undefined, 'c'.repeat(large)]);
  });
});

it('a small approval is whole in every list', async () => {
  const { approvalId, shownDigest } = await api.pending({ arguments: { path: '/small' } });
  const { approvals } = await listed('preview=true');
  const small = approvals.find((one) => one.approvalId === approvalId);
  expect(small).toMatchObject({ arguments: { path: '/small' }, shownDigest });
  expect(small?.isPreview).toBeUndefined();
});

it('a page of whole approvals ends below 1 MB, and its cursor leads on', async () => {
  for (let nth = 0; nth < 8; nth += 1) {
    await api.pending({ toolName: 'delete_file', arguments: { text: 'y'.repeat(large) } });
  }
  const { approvals, bytes } = await listed('toolName=delete_file');
  expect(approvals.filter((one) => one.arguments['text'] === 'y'.repeat(large))).toHaveLength(8);
  expect(Math.max(...bytes)).toBeLessThan(mebibyte);
  expect(bytes.length).toBeGreaterThan(1);
});
