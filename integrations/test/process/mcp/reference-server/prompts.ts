import { acceptedContent, inputRequired, type McpServer, type PromptMessage } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { image } from './contents.ts';

/** Adds the prompts. */
export function addPrompts(mcp: McpServer): void {
  mcp.registerPrompt('test_simple_prompt', { description: 'Simple prompt' }, () => ({
    messages: [says('This is a simple prompt for testing.')],
  }));
  const argsSchema = z.object({ arg1: z.string(), arg2: z.string() });
  mcp.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'Prompt with arguments', argsSchema },
    ({ arg1, arg2 }) => ({
      messages: [says(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
    }),
  );
  const withUri = z.object({ resourceUri: z.string() });
  mcp.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'Prompt with embedded resource', argsSchema: withUri },
    ({ resourceUri: uri }) => {
      const resource = { uri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' };
      return {
        messages: [
          { role: 'user', content: { type: 'resource', resource } },
          says('Please process the embedded resource above.'),
        ],
      };
    },
  );
  mcp.registerPrompt('test_prompt_with_image', { description: 'Prompt with image' }, () => ({
    messages: [
      { role: 'user', content: { type: 'image', data: image, mimeType: 'image/png' } },
      says('Please analyze the image above.'),
    ],
  }));
  mcp.registerPrompt(
    'test_input_required_result_prompt',
    { description: 'Asks first', argsSchema: z.object({}) },
    (_, { mcpReq }) => {
      const given = acceptedContent<{ context: string }>(mcpReq.inputResponses, 'user_context')?.context;
      if (typeof given === 'string') return { messages: [says(`Use the following context: ${given}`)] };
      const requestedSchema = {
        type: 'object' as const,
        properties: { context: { type: 'string' as const } },
        required: ['context'],
      };
      const user_context = inputRequired.elicit({ message: 'What context should the prompt use?', requestedSchema });
      return inputRequired({ inputRequests: { user_context } });
    },
  );
}

function says(text: string): PromptMessage {
  return { role: 'user', content: { type: 'text', text } };
}
