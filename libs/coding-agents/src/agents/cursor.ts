import type { JsonObject } from '@countersign/contracts';
import type { CodingAgent } from '../agent.js';
import { callReader, textIn } from '../hook-input.js';
import { blocked, noDefer } from './claude-form.js';

const readCall = callReader({ session: 'conversation_id', tool: 'tool_name', args: 'tool_input', id: 'tool_use_id' });

export const cursor: CodingAgent = {
  title: 'Cursor',
  holdMs: 45_000,
  readOnlyTools: ['Read', 'Grep', 'Glob', 'LS', 'Task', 'TodoWrite'],
  readCall,
  readEnd: (input) => {
    const error = textIn(input, 'error_message');
    const call = readCall(input);
    if (error !== undefined) return { call, status: 'failed', result: error };
    return { call, status: 'succeeded', result: input['tool_output'] ?? null };
  },
  // It expects JSON in every case.
  write: (decision) => {
    switch (decision.type) {
      case 'pass':
        return {};
      case 'allow': {
        const { args, note } = decision;
        const edit = args === undefined ? {} : { updated_input: args };
        return { permission: 'allow', ...(note === undefined ? {} : { agent_message: note }), ...edit };
      }
      case 'deny':
        return denied(decision.reason);
      case 'defer':
        return denied(noDefer);
    }
  },
  writeFailure: (reason) => blocked(denied(reason), reason),
  writeNote: (note) => ({ additional_context: note }),
  failsOpen: () =>
    'Cursor runs a tool when its hook crashes or times out, unless the hook has "failClosed": true. Set it, and a "timeout" above --hold.',
};

function denied(reason: string): JsonObject {
  return { permission: 'deny', user_message: reason, agent_message: reason };
}
