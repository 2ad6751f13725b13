import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

interface Case {
  readonly about: string;
  readonly id: string;
  readonly taken: boolean;
  readonly beside?: string;
}

const cases = JSON.parse(readFileSync(join(import.meta.dirname, '../testing/call-ids.json'), 'utf8')) as Case[];

let world: World;
let api: Api;
beforeAll(async () => {
  world = await openWorld();
  api = createApi(world);
});
afterAll(() => world.close());

describe('the id of a call', () => {
  it.each(cases)('is recorded as it is, or refused by its path: $about', async ({ about, id, taken, beside }) => {
    const ids = [id, beside ?? 'sibling'];
    const body = { runId: about, calls: ids.map((toolCallId) => ({ toolCallId, toolName: 't', arguments: {} })) };
    const answer = await api.send<{ calls?: { toolCallId: string; callId: string }[]; errors?: { path: string }[] }>(
      ...(['POST', '/v1/tool-calls', { body }] as const),
    );
    expect(answer.status).toBe(taken ? 201 : 400);
    if (!taken) return expect(answer.body.errors?.map(({ path }) => path)).toEqual(['calls.0.toolCallId']);
    expect(answer.body.calls?.map(({ toolCallId }) => toolCallId)).toEqual(ids);
    return expect(new Set(answer.body.calls?.map(({ callId }) => callId)).size).toBe(2);
  });

  it.each(['😀', 'ع', '/'])('finds its approval, also where it has 2,048 of %s', async (character) => {
    const toolCallId = character.repeat(2048);
    const { approvalId } = await api.pending({ toolCallId });
    const found = await api.send('GET', `/v1/approvals?toolCallId=${encodeURIComponent(toolCallId)}`, { as: 'ann' });
    expect(found.body).toMatchObject({ approvals: [{ approvalId, toolCallId }] });
  });
});
