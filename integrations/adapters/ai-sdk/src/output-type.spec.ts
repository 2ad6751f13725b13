// The compiler checks the types of this spec, and jest that they are true.
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { generateText, tool } from 'ai';
import { z } from 'zod';
import { scriptedModel } from '../conformance/scripted-model.js';
import { gateTools } from './gate-tools.js';

interface Receipt {
  readonly at: Date;
  readonly total?: number | undefined;
  readonly lines: readonly [string, undefined];
  readonly undo: () => void;
}

const closers: (() => Promise<void>)[] = [];
const inputSchema = z.strictObject({});
const receipt: Receipt = { at: new Date(0), lines: ['a', undefined], undo: () => undefined };
const tools = {
  receipt: tool({ inputSchema, execute: () => receipt }),
  date: tool({ inputSchema, execute: () => new Date(0) }),
  nothing: tool({ inputSchema, execute: (): undefined => undefined }),
  big: tool({ inputSchema, execute: () => ({ cents: 5n }) }),
};

afterEach(() => Promise.all(closers.splice(0).map((close) => close())));

/** The output of the one call of the tool, as the framework has it. */
async function outputOf(toolName: keyof typeof tools) {
  const { fetch } = createFakeCountersign();
  const free = { needsApproval: false };
  const options = { url: 'http://fake.test', token: 't', agentId: 'a', fetch };
  const gate = gateTools(options, tools, { receipt: free, date: free, nothing: free, big: free });
  closers.push(gate.close);
  const { model } = scriptedModel([[{ toolCallId: 'c1', toolName, arguments: {} }]]);
  const [result] = (await generateText({ model, ...gate.run('run'), prompt: 'go' })).staticToolResults;
  return result!;
}

describe('the output of a gated tool', () => {
  it('has a text in the place of a date, and no functions', async () => {
    const { toolName, output } = await outputOf('receipt');
    if (toolName !== 'receipt' || !('at' in output)) throw new Error('not a receipt');
    const at: string = output.at;
    const total: number | undefined = output.total;
    const lines: readonly [string, null] = output.lines;
    const undo: undefined = output.undo;
    // @ts-expect-error: it is no date any more
    const date: Date = output.at;
    expect(date).not.toBeInstanceOf(Date);
    expect({ at, total, lines, undo }).toEqual({ at: '1970-01-01T00:00:00.000Z', lines: ['a', null] });
  });

  it('is a text, and not an object, for a date', async () => {
    const { toolName, output } = await outputOf('date');
    if (toolName !== 'date' || typeof output === 'object') throw new Error('not a date');
    const text: string = output;
    expect(text).toBe('1970-01-01T00:00:00.000Z');
    // @ts-expect-error: it is no object
    expect(() => 'note' in output).toThrow(TypeError);
  });

  it('is null for undefined', async () => {
    const { toolName, output } = await outputOf('nothing');
    if (toolName !== 'nothing' || (typeof output === 'object' && output !== null)) throw new Error('not nothing');
    const nothing: null = output;
    expect(nothing).toBeNull();
  });

  it('says so when it could not be recorded', async () => {
    const { toolName, output } = await outputOf('big');
    if (toolName !== 'big' || !('unrecorded' in output)) throw new Error('not unrecorded');
    const why: string = output.unrecorded;
    expect(why).toMatch(/cannot be written as JSON/);
  });
});
