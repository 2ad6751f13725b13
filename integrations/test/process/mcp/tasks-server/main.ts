// A server with the extension for tasks, on the official SDK: `main.ts <port>`, or `main.ts --stdio <file>`. Its tools are those that
// the official conformance suite calls, and `pay`, which writes a line into the file.
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  inputRequired,
  McpServer,
  MissingRequiredClientCapabilityError,
  type CallToolResult,
  type ClientCapabilities,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { serveHttp } from '../reference-server/serve-http.ts';
import { cancel, stateOf, taskOf, update, type Work } from './tasks.ts';

type Args = Readonly<Record<string, unknown>>;
type Members = Readonly<Record<string, unknown>>;

const tasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const [mode = '', file = ''] = process.argv.slice(2);

const said = (text: string, isError = false): Members => ({ content: [{ type: 'text', text }], isError });
const form = (message: string, property: string) =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties: { [property]: { type: 'string' } }, required: [property] },
  });

/** The tools whose calls are tasks, for clients that take them. */
const long: Readonly<Record<string, (args: Args, work: Work) => Promise<Members>>> = {
  slow_compute: async ({ seconds, label }, { signal }) => {
    await sleep(Number(seconds) * 1_000, undefined, { signal });
    return said(`computed ${String(label)}`);
  },
  failing_job: async () => said('no luck', true),
  protocol_error_job: async () => {
    throw new Error('no luck');
  },
  confirm_delete: async ({ filename }, { ask }) => {
    await ask({ confirm: form('Delete it?', 'confirm') });
    return said(`deleted ${String(filename)}`);
  },
  multi_input: async (_, { ask }) => {
    const answers = await ask({ first: form('First?', 'first'), second: form('Second?', 'second') });
    return said(Object.keys(answers).sort().join());
  },
  pay: async ({ euros }, { signal }) => {
    appendFileSync(file, `paid ${String(euros)}\n`);
    await sleep(300, undefined, { signal });
    return said(`paid ${String(euros)}`);
  },
};
/** A gate that asks people about writing tools asks about none of these. */
const immediate = ['greet', 'test_tool_with_task'];

function takesTasks({ mcpReq }: ServerContext): boolean {
  const envelope: { readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities } = mcpReq.envelope ?? {};
  return 'io.modelcontextprotocol/tasks' in (envelope[CLIENT_CAPABILITIES_META_KEY]?.extensions ?? {});
}

function call(name: string, args: Args, context: ServerContext): Members {
  if (name === 'greet') return said(`Hello, ${String(args['name'])}!`);
  if (name === 'test_tool_with_task') {
    const given = acceptedContent<{ name: string }>(context.mcpReq.inputResponses, 'user_name')?.name;
    if (given === undefined) return inputRequired({ inputRequests: { user_name: form('Your name?', 'name') } });
    return taskOf(async () => said(`Hello, ${given}!`));
  }
  const work = long[name];
  if (work === undefined) return said(`no tool ${name}`, true);
  if (takesTasks(context)) return taskOf((around) => work(args, around));
  if (name !== 'slow_compute') throw new MissingRequiredClientCapabilityError({ requiredCapabilities: tasks });
  return said(`computed ${String(args['label'])}`);
}

function create(): McpServer {
  const mcp = new McpServer({ name: 'tasks', version: '1' }, { capabilities: { tools: {}, ...tasks } });
  const { server } = mcp;
  server.setRequestHandler('tools/list', () => ({
    tools: [...immediate, ...Object.keys(long)].map((name) => ({
      ...{ name, inputSchema: { type: 'object' } },
      annotations: { readOnlyHint: immediate.includes(name) },
    })),
  }));
  const answer = (request: { params: { name: string; arguments?: Args | undefined } }, context: ServerContext) =>
    call(request.params.name, request.params.arguments ?? {}, context) as CallToolResult;
  server.setRequestHandler('tools/call', answer);
  const params = z.looseObject({ taskId: z.string() });
  const about = (method: string, handle: (taskId: string, context: ServerContext) => Members): void => {
    server.setRequestHandler(method, { params }, ({ taskId }, context) => {
      if (!takesTasks(context)) throw new MissingRequiredClientCapabilityError({ requiredCapabilities: tasks });
      return { ...handle(taskId, context) };
    });
  };
  about('tasks/get', stateOf);
  about('tasks/cancel', cancel);
  about('tasks/update', (taskId, { mcpReq }) => update(taskId, { ...mcpReq.inputResponses }));
  return mcp;
}

if (mode === '--stdio') serveStdio(create, { legacy: 'reject' });
else serveHttp(Number(mode), create);
