import type { JsonObject } from '@countersign/contracts';
import type { Allowed, CodingAgent } from '../agent.js';
import { callReader, endReader } from '../hook-input.js';

const readCall = callReader({ session: 'session_id', tool: 'tool_name', args: 'tool_input', id: 'tool_use_id' });

export const claudeCode: CodingAgent = {
  title: 'Claude Code',
  // Its timeout is 600 s.
  holdMs: 540_000,
  // The tools of plugins begin with "mcp__". A skill can run commands, so "Skill" is no reading tool.
  readOnlyTools: [
    ...['Read', 'Glob', 'Grep', 'LS', 'NotebookRead', 'BashOutput', 'TaskOutput', 'ToolSearch'],
    ...['Task', 'Agent', 'TodoWrite', 'TaskCreate', 'TaskGet', 'TaskList', 'TaskUpdate'],
    ...['AskUserQuestion', 'EnterPlanMode', 'ExitPlanMode'],
  ],
  beforeEvent: 'PreToolUse',
  readCall,
  readEnd: endReader(readCall, { output: 'tool_response', error: 'error' }),
  pass: null,
  allow: (allowed) => preToolUseAllow(allowed, allowed.note === undefined ? {} : { additionalContext: allowed.note }),
  deny: (reason) => preToolUse('deny', reason),
  defer: preToolUse('defer', 'a person decides in Countersign'),
  failureCode: 2,
  note: (additionalContext) => ({ hookSpecificOutput: { hookEventName: 'PostToolUse', additionalContext } }),
  failsOpen: ({ permission_mode: mode }) =>
    mode === 'bypassPermissions'
      ? 'Claude Code runs a tool in bypass mode when its hook crashes or times out. Set "onFailure": "block" in the hook, and a "timeout" above --hold.'
      : null,
};

/** An allowed call in the form that Codex has too. */
export function preToolUseAllow({ args, note }: Allowed, more: JsonObject = {}): JsonObject {
  const edit = args === undefined ? {} : { updatedInput: args };
  return preToolUse('allow', note ?? 'allowed by Countersign', { ...edit, ...more });
}

function preToolUse(permissionDecision: string, permissionDecisionReason: string, more: JsonObject = {}): JsonObject {
  return {
    hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision, permissionDecisionReason, ...more },
  };
}
