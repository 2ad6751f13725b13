import { fromJsonSchema, type McpServer, type ServerContext, type ServerNotifier } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { audio, image, said } from './contents.ts';

const nothing = z.object({});

/** Adds the tools that reply by themselves. `notifier` tells the listening clients of versions without sessions. */
export function addTools(mcp: McpServer, notifier: () => ServerNotifier): void {
  addContents(mcp);
  mcp.registerTool('test_error_handling', { description: 'Error handling' }, () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  mcp.registerTool(
    'test_tool_with_logging',
    { description: 'Tool with logging', inputSchema: nothing },
    async (_, { mcpReq }) => {
      for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        await mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data } });
      }
      return said('logged');
    },
  );
  mcp.registerTool('test_logging_tool', { description: 'Logging' }, () =>
    said('no level was named, so nothing is logged'),
  );
  mcp.registerTool(
    'test_tool_with_progress',
    { description: 'Tool with progress', inputSchema: nothing },
    reportProgress,
  );
  mcp.registerTool('test_streaming_elicitation', { description: 'Streaming elicitation', inputSchema: nothing }, () =>
    said('no request on this stream'),
  );
  mcp.registerTool('test_trigger_tool_change', { description: 'Trigger tool change', inputSchema: nothing }, () => {
    notifier().toolsChanged();
    return said('changed');
  });
  mcp.registerTool('test_trigger_prompt_change', { description: 'Trigger prompt change', inputSchema: nothing }, () => {
    notifier().promptsChanged();
    return said('changed');
  });
  mcp.registerTool(
    'test_x_mcp_header',
    { description: 'Header', inputSchema: fromJsonSchema<{ region?: string }>(withHeader) },
    (args) => said(`region=${args.region ?? 'none'}`),
  );
  mcp.registerTool(
    'json_schema_2020_12_tool',
    { description: 'Json schema 2020 12 tool', inputSchema: fromJsonSchema(richSchema) },
    (args) => said(JSON.stringify(args)),
  );
}

function addContents(mcp: McpServer): void {
  mcp.registerTool('test_simple_text', { description: 'Returns one text' }, () =>
    said('This is a simple text response for testing.'),
  );
  mcp.registerTool('test_image_content', { description: 'Returns one image' }, () => ({
    content: [{ type: 'image', data: image, mimeType: 'image/png' }],
  }));
  mcp.registerTool('test_audio_content', { description: 'Returns one sound' }, () => ({
    content: [{ type: 'audio', data: audio, mimeType: 'audio/wav' }],
  }));
  const embedded = { mimeType: 'text/plain', text: 'This is an embedded resource content.' };
  mcp.registerTool('test_embedded_resource', { description: 'Returns one resource' }, () => ({
    content: [{ type: 'resource', resource: { uri: 'test://embedded-resource', ...embedded } }],
  }));
  mcp.registerTool('test_multiple_content_types', { description: 'Returns contents of three kinds' }, () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      { type: 'image', data: image, mimeType: 'image/png' },
      {
        type: 'resource',
        resource: { uri: 'test://mixed-content-resource', mimeType: 'application/json', text: '{}' },
      },
    ],
  }));
}

async function reportProgress(_: unknown, { mcpReq }: ServerContext): Promise<ReturnType<typeof said>> {
  const progressToken = mcpReq._meta?.progressToken;
  for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
    const params = { progressToken: progressToken ?? 0, progress, total: 100, message: `step ${progress}` };
    await mcpReq.notify({ method: 'notifications/progress', params });
  }
  return said(String(progressToken));
}

const withHeader = {
  type: 'object',
  properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, level: { type: 'integer' } },
} as const;

/** The words of JSON Schema that a list of tools must keep. */
const richSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};
