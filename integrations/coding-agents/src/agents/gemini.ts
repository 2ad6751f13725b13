import { jcsDigest, type JsonObject, type JsonValue } from '@countersign/contracts';
import type { AgentCall, CodingAgent, ToolServer } from '../agent.js';
import { callReader, objectIn, textIn } from '../hook-input.js';

const readNames = callReader({ session: 'session_id', tool: 'tool_name', args: 'tool_input' });

/** Older versions give the tool of an MCP server its own name. They say from which server it is. */
const readCall = (input: JsonObject): AgentCall => {
  const context = input['mcp_context'];
  return { ...readNames(input), ...(context === undefined ? {} : { server: serverOf(context) }) };
};

function serverOf(context: JsonValue): ToolServer {
  const { tool_name: _tool, ...server } = objectIn(context) ?? { context };
  const hash = jcsDigest(server).replace(/^sha256:/, '');
  return { name: textIn(server, 'server_name'), endpoint: `mcp-server_${hash.slice(0, 32)}` };
}

export const gemini: CodingAgent = {
  title: 'Gemini CLI',
  // Its timeout is 60 s.
  holdMs: 45_000,
  readOnlyTools: [
    ...['read_file', 'read_many_files', 'list_directory', 'glob', 'grep_search', 'search_file_content'],
    ...['write_todos', 'ask_user', 'enter_plan_mode', 'exit_plan_mode'],
  ],
  beforeEvent: 'BeforeTool',
  readCall,
  readEnd: (input) => {
    const result = input['tool_response'] ?? null;
    const error = objectIn(result)?.['error'] ?? null;
    const call = readCall(input);
    return error === null ? { call, status: 'succeeded', result } : { call, status: 'failed', result: error };
  },
  pass: null,
  allow: ({ args, note }) => {
    const edit = args === undefined ? {} : { hookSpecificOutput: { hookEventName: 'BeforeTool', tool_input: args } };
    return { decision: 'allow', ...(note === undefined ? {} : { reason: note }), ...edit };
  },
  deny: (reason) => ({ decision: 'deny', reason }),
  failureCode: 2,
  note: (additionalContext) => ({ hookSpecificOutput: { hookEventName: 'AfterTool', additionalContext } }),
  takesEdit: keepsEveryMember,
  failsOpen: () => 'Gemini CLI runs a tool when its hook crashes or times out. Set a "timeout" above --hold, in ms.',
};

/** Gemini merges edited arguments into its own, so it would keep a member that an approver removed. */
function keepsEveryMember(asked: JsonValue, approved: JsonValue | undefined): boolean {
  const [before, after] = [objectIn(asked), objectIn(approved)];
  if (before === undefined || after === undefined) return true;
  return Object.entries(before).every(([name, value]) => name in after && keepsEveryMember(value, after[name]));
}
