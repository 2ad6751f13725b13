// One conversation with one call of a tool that is not behind the gate, for `npm run bench`: the framework alone, and with the adapter.
import { gateTools } from '@countersign/ai-sdk';
import { generateText, isStepCount, tool } from 'ai';
import { z } from 'zod';
import { scriptedModel } from './scripted-model.ts';

const lookup = tool({ inputSchema: z.strictObject({ id: z.string() }), execute: ({ id }) => ({ found: id }) });
const refund = tool({ inputSchema: z.strictObject({ amount: z.int() }), execute: ({ amount }) => amount });
const gate = gateTools({ url: 'http://127.0.0.1:9', token: 't', agentId: 'a' }, { lookup, refund }, { refund: true });

const settings = () => ({
  ...scriptedModel([[{ toolCallId: 'c1', toolName: 'lookup', arguments: { id: 'x' } }]]),
  prompt: 'go',
  stopWhen: isStepCount(5),
});

export const alone = async (): Promise<string> =>
  (await generateText({ ...settings(), tools: { lookup, refund } })).text;

export const behind = async (): Promise<string> => (await generateText({ ...settings(), ...gate.run('run') })).text;
