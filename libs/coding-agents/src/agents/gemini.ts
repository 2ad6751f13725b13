import type { JsonObject, JsonValue } from '@countersign/contracts';
import type { CodingAgent } from '../agent.js';
import { callReader, objectIn } from '../hook-input.js';
import { blocked, noDefer } from './claude-form.js';

const readCall = callReader({ session: 'session_id', tool: 'tool_name', args: 'tool_input' });
const denied = (reason: string): JsonObject => ({ decision: 'deny', reason });

export const gemini: CodingAgent = {
  title: 'Gemini CLI',
  // Its timeout is 60 s.
  holdMs: 45_000,
  readOnlyTools: [
    ...['read_file', 'read_many_files', 'list_directory', 'glob', 'grep_search', 'search_file_content'],
    ...['write_todos', 'ask_user', 'enter_plan_mode', 'exit_plan_mode'],
  ],
  readCall,
  readEnd: (input) => {
    const result = input['tool_response'] ?? null;
    const error = objectIn(result)?.['error'] ?? null;
    const call = readCall(input);
    return error === null ? { call, status: 'succeeded', result } : { call, status: 'failed', result: error };
  },
  write: (decision) => {
    switch (decision.type) {
      case 'pass':
        return null;
      case 'allow': {
        const { args, note } = decision;
        const edit =
          args === undefined ? {} : { hookSpecificOutput: { hookEventName: 'BeforeTool', tool_input: args } };
        return { decision: 'allow', ...(note === undefined ? {} : { reason: note }), ...edit };
      }
      case 'deny':
        return denied(decision.reason);
      case 'defer':
        return denied(noDefer);
    }
  },
  takesEdit: keepsEveryMember,
  writeFailure: (reason) => blocked(denied(reason), reason),
  writeNote: (additionalContext) => ({ hookSpecificOutput: { hookEventName: 'AfterTool', additionalContext } }),
  failsOpen: () =>
    'Gemini CLI runs a tool when its hook crashes, times out or is not found. Set a "timeout" above --hold, in ms.',
};

/** Gemini merges edited arguments into its own, so it would keep a member that an approver removed. */
function keepsEveryMember(asked: JsonValue, approved: JsonValue | undefined): boolean {
  const [before, after] = [objectIn(asked), objectIn(approved)];
  if (before === undefined || after === undefined) return true;
  return Object.entries(before).every(([name, value]) => name in after && keepsEveryMember(value, after[name]));
}
