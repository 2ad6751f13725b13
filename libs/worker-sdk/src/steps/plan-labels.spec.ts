import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import type { Step } from '../state.js';
import { gateTool } from '../tools/gate-tool.js';
import type { ToolDefinition } from '../tools/tool-definition.js';
import { planStep } from './plan.js';

const inputSchema = z.strictObject({ account: z.string() });
type Definition = ToolDefinition<typeof inputSchema, { readonly chat: string }>;

async function planOf(labels: Definition['labels'], step: Partial<Step> = {}, given: unknown = { chat: '-1001' }) {
  const tool = gateTool<typeof inputSchema, { readonly chat: string }>({
    ...{ name: 'pay', inputSchema, execute: () => null },
    ...(labels !== undefined && { labels }),
  });
  const toolCalls = ['a', 'b'].map((account) => ({ toolCallId: account, toolName: 'pay', arguments: { account } }));
  return planStep({ runId: 'r', toolCalls, ...step }, new Map([['pay', tool]]) as never, { agentId: 'ops', given });
}
const labelsIn = ({ requests }: Awaited<ReturnType<typeof planOf>>) => requests.map((one) => one.labels);

describe('the labels of a call', () => {
  it('are those of its tool, or made for each call from the input and the context of the worker', async () => {
    expect(labelsIn(await planOf({ env: 'prod' }))).toEqual([{ env: 'prod' }, { env: 'prod' }]);
    const perCall: Definition['labels'] = ({ account }, { context }) => ({
      account,
      telegramChat: context?.chat ?? '',
    });
    expect(labelsIn(await planOf(perCall))).toEqual([
      { account: 'a', telegramChat: '-1001' },
      { account: 'b', telegramChat: '-1001' },
    ]);
    expect(labelsIn(await planOf(undefined))).toEqual([undefined, undefined]);
  });

  it('are those of the step too, and the tool has the last word', async () => {
    const labels = { telegramChat: '-1002', env: 'dev' };
    expect(labelsIn(await planOf({ env: 'prod', cwd: '/srv' }, { labels }))).toEqual(
      Array(2).fill({ telegramChat: '-1002', env: 'prod', cwd: '/srv' }),
    );
    expect(labelsIn(await planOf(() => Promise.resolve({ env: 'test' }), { labels }))[0]).toEqual({
      ...{ telegramChat: '-1002', env: 'test' },
    });
  });

  it.each([
    [
      'that throws',
      () => {
        throw new Error('no chat');
      },
      'no chat',
    ],
    ['that returns no texts', () => ({ telegramChat: 7 }) as never, 'texts by name'],
    ['that returns nothing', () => undefined as never, 'texts by name'],
    ['that names another folder', () => ({ cwd: '/srv/prod' }), 'the label cwd says where the tool works'],
  ])('are none where they are made by a function %s: the call is not requested', async (_name, labels, why) => {
    const { requests, calls } = await planOf(labels);
    expect(requests).toEqual([]);
    expect(calls[0]?.local).toMatchObject({ code: 'invalid-labels', message: expect.stringContaining(why) });
  });

  it.each(['cwd', 'mcpServer', 'mcpEndpoint', 'mcpDefinition'])(
    'of a step do not name the place %s of a tool',
    async (name) => {
      await expect(planOf({ env: 'prod' }, { labels: { [name]: 'x' } })).rejects.toThrow(TypeError);
    },
  );
});
