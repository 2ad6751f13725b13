import type { CodingAgent } from '../agent.js';
import { textIn } from '../hook-input.js';
import { allowed, blocked, denied, postToolUse, preToolUse, readClaudeCall } from './claude-form.js';

export const claudeCode: CodingAgent = {
  title: 'Claude Code',
  // Its timeout is 600 s.
  holdMs: 540_000,
  readOnlyTools: [
    ...['Read', 'Glob', 'Grep', 'LS', 'NotebookRead', 'BashOutput', 'TaskOutput', 'ToolSearch'],
    ...['Task', 'Agent', 'Skill', 'TodoWrite', 'TaskCreate', 'TaskGet', 'TaskList', 'TaskUpdate'],
    ...['AskUserQuestion', 'EnterPlanMode', 'ExitPlanMode'],
  ],
  readCall: readClaudeCall,
  readEnd: (input) => {
    const hasFailed = textIn(input, 'hook_event_name') === 'PostToolUseFailure';
    const result = (hasFailed ? input['error'] : input['tool_response']) ?? null;
    return { call: readClaudeCall(input), status: hasFailed ? 'failed' : 'succeeded', result };
  },
  write: (decision) => {
    switch (decision.type) {
      case 'pass':
        return null;
      case 'allow':
        return allowed(decision, decision.note === undefined ? {} : { additionalContext: decision.note });
      case 'deny':
        return denied(decision.reason);
      case 'defer':
        return preToolUse('defer', 'a person decides in Countersign');
    }
  },
  writeFailure: (reason) => blocked(denied(reason), reason),
  writeNote: postToolUse,
  failsOpen: ({ permission_mode: mode }) =>
    mode === 'bypassPermissions'
      ? 'Claude Code runs a tool in bypass mode when its hook crashes or times out. Set "onFailure": "block" in the hook, and a "timeout" above --hold.'
      : null,
};
