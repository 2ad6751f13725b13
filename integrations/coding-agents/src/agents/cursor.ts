import type { CodingAgent } from '../agent.js';
import { callReader, endReader } from '../hook-input.js';

const readCall = callReader({ session: 'conversation_id', tool: 'tool_name', args: 'tool_input', id: 'tool_use_id' });

export const cursor: CodingAgent = {
  title: 'Cursor',
  holdMs: 45_000,
  // By its documentation the tools of servers begin with "MCP:".
  readOnlyTools: ['Read', 'Grep', 'Glob', 'LS', 'Task', 'TodoWrite'],
  beforeEvent: 'preToolUse',
  readCall,
  readEnd: endReader(readCall, { output: 'tool_output', error: 'error_message' }),
  // It expects JSON in every case.
  pass: {},
  allow: ({ args, note }) => ({
    permission: 'allow',
    ...(note === undefined ? {} : { agent_message: note }),
    ...(args === undefined ? {} : { updated_input: args }),
  }),
  deny: (reason) => ({ permission: 'deny', user_message: reason, agent_message: reason }),
  failureCode: 2,
  note: (text) => ({ additional_context: text }),
  failsOpen: () =>
    'Cursor runs a tool when its hook crashes or times out, unless the hook has "failClosed": true. Set it, and a "timeout" above --hold.',
};
