import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  inputRequired,
  type ClientCapabilities,
  type InputRequests,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { said } from './contents.ts';

/** The state that a client sends back unchanged. Each request may meet a new server object, so one key signs it for all. */
export const requestStates = createRequestStateCodec<{ readonly round: number }>({
  key: crypto.getRandomValues(new Uint8Array(32)),
});

const form = (message: string, property: string) =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties: { [property]: { type: 'string' } }, required: [property] },
  });
const confirmation = inputRequired.elicit({
  message: 'Please confirm',
  requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
});
const sample = (text: string) =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens: 50 });
const name = () => form('What is your name?', 'name');

/** Adds the tools that ask the client for input in their result, from version 2026-07-28 on. */
export function addAskingTools(mcp: McpServer): void {
  const add = (tool: string, run: (context: ServerContext) => Promise<ToolResult> | ToolResult): void =>
    void mcp.registerTool(tool, { description: tool, inputSchema: z.object({}) }, (_, context) => run(context));
  /** A tool that asks once, and is done when the client has responded to the first of its questions. */
  const addSimple = (tool: string, requests: () => InputRequests): void => {
    add(tool, (context) => {
      const [key = ''] = Object.keys(requests());
      return respondedTo(context, key) ? said('done') : inputRequired({ inputRequests: requests() });
    });
  };
  add('test_input_required_result_elicitation', ({ mcpReq }) => {
    const given = acceptedContent<{ name: string }>(mcpReq.inputResponses, 'user_name')?.name;
    return typeof given === 'string'
      ? said(`Hello, ${given}!`)
      : inputRequired({ inputRequests: { user_name: name() } });
  });
  addSimple('test_missing_capability', () => ({ llm_answer: sample('Reply with the word: pong') }));
  addSimple('test_input_required_result_sampling', () => ({
    capital_question: sample('What is the capital of France?'),
  }));
  addSimple('test_input_required_result_list_roots', () => ({ client_roots: inputRequired.listRoots() }));
  add('test_input_required_result_request_state', confirm);
  add('test_input_required_result_tampered_state', confirm);
  add('test_input_required_result_multiple_inputs', severalInputs);
  add('test_input_required_result_multi_round', severalRounds);
  add('test_input_required_result_capabilities', inputsOfCapabilities);
}

type ToolResult = ReturnType<typeof said> | ReturnType<typeof inputRequired>;

function respondedTo({ mcpReq }: ServerContext, ...keys: readonly string[]): boolean {
  return keys.every((key) => mcpReq.inputResponses?.[key] !== undefined);
}

/** The SDK refuses a changed state before it gets here. */
async function confirm(context: ServerContext): Promise<ToolResult> {
  if (respondedTo(context, 'confirm') && context.mcpReq.requestState() !== undefined) return said('state-ok');
  const requestState = await requestStates.mint({ round: 1 });
  return inputRequired({ inputRequests: { confirm: confirmation }, requestState });
}

async function severalInputs(context: ServerContext): Promise<ToolResult> {
  if (respondedTo(context, 'user_name', 'greeting', 'client_roots')) return said('done');
  const requestState = await requestStates.mint({ round: 1 });
  const inputRequests = {
    user_name: name(),
    greeting: sample('Generate a greeting'),
    client_roots: inputRequired.listRoots(),
  };
  return inputRequired({ inputRequests, requestState });
}

async function severalRounds({ mcpReq }: ServerContext): Promise<ToolResult> {
  const round = (mcpReq.requestState<{ readonly round: number }>()?.round ?? 0) + 1;
  if (round > 2) return said('done');
  const question = round === 1 ? name() : form('What is your favorite color?', 'color');
  const requestState = await requestStates.mint({ round });
  return inputRequired({ inputRequests: { [`step${round}`]: question }, requestState });
}

/** Asks only for input that the client said it can give. */
function inputsOfCapabilities({ mcpReq }: ServerContext): ToolResult {
  const envelope: { readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities } = mcpReq.envelope ?? {};
  const { elicitation, sampling } = envelope[CLIENT_CAPABILITIES_META_KEY] ?? {};
  const inputRequests: InputRequests = {
    ...(elicitation === undefined ? {} : { user_name: name() }),
    ...(sampling === undefined ? {} : { greeting: sample('Generate a greeting') }),
  };
  const isDone = mcpReq.inputResponses !== undefined || Object.keys(inputRequests).length === 0;
  return isDone ? said('done') : inputRequired({ inputRequests });
}
