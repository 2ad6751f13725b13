import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { gateTool } from './gate-tool.js';
import type { ApprovalContext, CheckedCall, GateTool } from './tool-definition.js';

const context: ApprovalContext = {
  runId: 'r',
  agentId: 'a',
  toolCallId: 'c',
  messages: [],
  batch: [],
  context: undefined,
};
const inputSchema = z.strictObject({ path: z.string(), force: z.boolean().default(false) });
const execute = (): string => 'done';

async function checked(tool: GateTool, args: { readonly [key: string]: string | boolean }): Promise<CheckedCall> {
  const result = await tool.check(args);
  if (!result.valid) throw new Error('expected valid arguments');
  return result;
}

async function needOf(needsApproval: unknown): Promise<unknown> {
  const definition = { name: 't', inputSchema, needsApproval, execute } as Parameters<typeof gateTool>[0];
  return (await checked(gateTool(definition), { path: '/x' })).judge(context);
}

describe('a tool', () => {
  it('needs no approval unless it says so', async () => {
    expect(await needOf(undefined)).toEqual({ needsApproval: false });
    expect(await needOf(false)).toEqual({ needsApproval: false });
    expect(await needOf(true)).toEqual({ needsApproval: true });
  });

  it('asks its predicate, synchronous or not, with the validated input and the context', async () => {
    const seen: unknown[] = [];
    const tool = gateTool({
      name: 't',
      inputSchema,
      needsApproval: async (input, given) => {
        seen.push(input, given);
        return input.path.startsWith('/etc/') && !input.force;
      },
      execute,
    });
    expect(await (await checked(tool, { path: '/etc/hosts' })).judge(context)).toEqual({ needsApproval: true });
    expect(await (await checked(tool, { path: '/tmp' })).judge(context)).toEqual({ needsApproval: false });
    expect(seen.slice(0, 2)).toEqual([{ path: '/etc/hosts', force: false }, context]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no rule for this');
      },
      /failed \(no rule for this\), so a person must agree/,
    ],
    ['rejects', async () => Promise.reject(new Error('offline')), /failed \(offline\)/],
    ['answers undefined', () => undefined, /neither true nor false/],
    ['answers 0', () => 0, /neither true nor false/],
    ['answers "false"', async () => 'false', /neither true nor false/],
  ])('whose predicate %s needs approval, and says why', async (_, predicate, reason) => {
    expect(await needOf(predicate)).toEqual({ needsApproval: true, reason: expect.stringMatching(reason) });
  });

  it('may say why its predicate wants a person, and approvers get the reason', async () => {
    expect(await needOf(() => ({ required: true, reason: 'more than 100 €' }))).toEqual({
      needsApproval: true,
      reason: 'more than 100 €',
    });
    // The log has it too, and people read it where the policy asks them all the same.
    expect(await needOf(() => ({ required: false, reason: 'small' }))).toEqual({
      needsApproval: false,
      reason: 'small',
    });
    expect(await needOf(() => ({ required: 'no' }))).toMatchObject({ needsApproval: true });
  });

  it('without a question and a description asks a default question', async () => {
    const bare = await checked(gateTool({ name: 't', inputSchema, execute }), { path: '/x' });
    expect(await bare.describe(context)).toBe('Run t with these arguments?');
  });

  it('without an executor is refused when it is built', () => {
    const build = (more: object) => () =>
      gateTool({ name: 't', inputSchema, ...more } as unknown as Parameters<typeof gateTool>[0]);
    expect(build({})).toThrow(/`execute`, or `clientExecuted: true`/);
    expect(build({ clientExecuted: false })).toThrow(TypeError);
    expect(build({ execute: 'rm' })).toThrow(TypeError);
    expect(build({ execute, clientExecuted: true })).toThrow(/exclude each other/);
    expect(build({ execute, needsApproval: 'yes' })).toThrow(/boolean or a function/);
    expect(build({ clientExecuted: true })).not.toThrow();
  });

  it('asks its own question, and falls back to its description', async () => {
    type Prompt = (input: { path: string }) => string | Promise<string>;
    const describeWith = async (approvalPrompt: Prompt): Promise<string | undefined> => {
      const tool = gateTool({ name: 't', description: 'Deletes a file', inputSchema, approvalPrompt, execute });
      return (await checked(tool, { path: '/x' })).describe(context);
    };
    expect(await describeWith(({ path }) => `Delete ${path}?`)).toBe('Delete /x?');
    expect(
      await describeWith(() => {
        throw new Error('no');
      }),
    ).toBe('Deletes a file');
    expect(await describeWith(async ({ path }) => `Delete ${path}?`)).toBe('Delete /x?');
    expect(await describeWith(() => Promise.reject(new Error('no')))).toBe('Deletes a file');
    expect((await describeWith(() => 'x'.repeat(10_000)))?.length).toBeLessThan(8192);
    expect((await describeWith(() => `${'x'.repeat(7999)}😀`))?.isWellFormed()).toBe(true);
    expect(await describeWith(() => 'a\ud800')).toBe('a\ufffd');
  });

  it('refuses a schema that transforms, when a framework has parsed the input by it already', async () => {
    const cents = z.strictObject({ amount: z.number().overwrite((amount) => amount * 100) });
    const trimmed = z.strictObject({ amount: z.string().trim().default('1') });
    const toolOf = (schema: z.ZodType) =>
      gateTool({ name: 't', inputSchema: schema, inputIsParsed: true, execute: () => null });
    expect(await toolOf(cents).check({ amount: 500 })).toMatchObject({ valid: false });
    expect(await toolOf(cents).check({ amount: 0 })).toMatchObject({ valid: true });
    expect(await toolOf(trimmed).check({})).toMatchObject({ valid: true, arguments: { amount: '1' } });
  });

  it('infers its input from the schema', async () => {
    const tool = gateTool({
      name: 't',
      inputSchema,
      execute: ({ path, force }): string => `${path.trim()} ${String(force)}`,
    });
    const call = await checked(tool, { path: ' /x ' });
    const run = {
      callId: 'tc',
      attempt: 1,
      idempotencyKey: 'k',
      signal: new AbortController().signal,
      approval: null,
      messages: [],
      context: undefined,
      ask: () => Promise.reject(new Error('this test asks no person')),
      receipt: () => null,
    };
    expect(await call.execute?.({ ...run, runId: 'r', agentId: 'a', toolCallId: 'c' })).toBe('/x false');
    // @ts-expect-error: the schema has no such member
    gateTool({ name: 't', inputSchema, execute: ({ nonsense }): unknown => nonsense as unknown });
  });
});
