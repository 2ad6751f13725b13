import type { ElicitRequestFormParams, McpServer, ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { said } from './contents.ts';

type Form = ElicitRequestFormParams['requestedSchema'];

/** Adds the tools that send a request of their own to the client, as versions with sessions allow. */
export function addElicitingTools(mcp: McpServer): void {
  const prompt = z.object({ prompt: z.string() });
  mcp.registerTool(
    'test_sampling',
    { description: 'Sampling', inputSchema: prompt },
    async ({ prompt: text }, { mcpReq }) => {
      const messages = [{ role: 'user' as const, content: { type: 'text' as const, text } }];
      const params = { messages, maxTokens: 100 };
      const { content } = await mcpReq.send({ method: 'sampling/createMessage', params });
      return said(`LLM response: ${JSON.stringify(content)}`);
    },
  );
  const message = z.object({ message: z.string() });
  mcp.registerTool('test_elicitation', { description: 'Elicitation', inputSchema: message }, (args, context) =>
    elicit(context, args.message, {
      type: 'object',
      properties: { response: { type: 'string' } },
      required: ['response'],
    }),
  );
  mcp.registerTool(
    'test_elicitation_sep1034_defaults',
    { description: 'Defaults', inputSchema: z.object({}) },
    (_, context) => elicit(context, 'Please review the defaults', defaults),
  );
  mcp.registerTool(
    'test_elicitation_sep1330_enums',
    { description: 'Enums', inputSchema: z.object({}) },
    (_, context) => elicit(context, 'Please select', enums),
  );
}

async function elicit({ mcpReq }: ServerContext, message: string, requestedSchema: Form) {
  const { action, content } = await mcpReq.send({ method: 'elicitation/create', params: { message, requestedSchema } });
  return said(`User response: action=${action}, content=${JSON.stringify(content ?? {})}`);
}

const defaults: Form = {
  type: 'object',
  properties: {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  },
};

const options = ['option1', 'option2', 'option3'];
const titled = [
  { const: 'value1', title: 'First' },
  { const: 'value2', title: 'Second' },
  { const: 'value3', title: 'Third' },
];
const enums: Form = {
  type: 'object',
  properties: {
    untitledSingle: { type: 'string', enum: options },
    titledSingle: { type: 'string', oneOf: titled },
    legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
    untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
    titledMulti: { type: 'array', items: { anyOf: titled } },
  },
};
