import type { JsonObject } from '@countersign/contracts';
import type { CodingAgent, Decision, HookAnswer } from './agent.js';
import { callReader, textIn } from './hook-input.js';

const minuteMs = 60_000;

const claudeCall = callReader({ session: 'session_id', tool: 'tool_name', args: 'tool_input', id: 'tool_use_id' });

const claudeCode: CodingAgent = {
  title: 'Claude Code',
  holdMs: 9 * minuteMs,
  readOnlyTools: [
    ...['Read', 'Glob', 'Grep', 'LS', 'NotebookRead', 'BashOutput', 'TaskOutput', 'ToolSearch'],
    ...['Task', 'Agent', 'Skill', 'TodoWrite', 'TaskCreate', 'TaskGet', 'TaskList', 'TaskUpdate'],
    ...['AskUserQuestion', 'EnterPlanMode', 'ExitPlanMode'],
  ],
  readCall: claudeCall,
  readEnd: (input) => {
    const hasFailed = textIn(input, 'hook_event_name') === 'PostToolUseFailure';
    const result = (hasFailed ? input['error'] : input['tool_response']) ?? null;
    return { call: claudeCall(input), status: hasFailed ? 'failed' : 'succeeded', result };
  },
  write: (decision) => {
    switch (decision.type) {
      case 'pass':
        return null;
      case 'allow': {
        const note = decision.note === undefined ? {} : { additionalContext: decision.note };
        return preToolUse('allow', decision.note ?? 'allowed by Countersign', { ...updatedInput(decision), ...note });
      }
      case 'deny':
        return preToolUse('deny', decision.reason);
      case 'defer':
        return preToolUse('defer', 'a person decides in Countersign');
    }
  },
  writeFailure: (reason) => blocked(preToolUse('deny', reason), reason),
  writeNote: postToolUse,
  failsOpen: ({ permission_mode: mode }) =>
    mode === 'bypassPermissions'
      ? 'Claude Code runs a tool in bypass mode when its hook crashes or times out. Set "onFailure": "block" in the hook, and a "timeout" above --hold.'
      : null,
};

const codex: CodingAgent = {
  ...claudeCode,
  title: 'Codex',
  readOnlyTools: ['update_plan', 'view_image', 'list_mcp_resources', 'read_mcp_resource'],
  readEnd: (input) => ({ call: claudeCall(input), status: 'succeeded', result: input['tool_response'] ?? null }),
  write: (decision) => {
    // Codex takes a plain "allow" for a fault of the hook: silence lets the tool run.
    if (decision.type === 'allow' && decision.args === undefined) return null;
    if (decision.type !== 'allow') return claudeCode.write(decision);
    return preToolUse('allow', decision.note ?? 'allowed by Countersign', updatedInput(decision));
  },
  failsOpen: ({ permission_mode: mode }) =>
    mode === 'bypassPermissions'
      ? 'Codex runs a tool in bypass mode when its hook crashes or times out, and ignores hooks that are not trusted. Keep its sandbox on, trust the hook, and set a "timeout" above --hold.'
      : null,
};

function preToolUse(permissionDecision: string, permissionDecisionReason: string, more: JsonObject = {}): JsonObject {
  return {
    hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision, permissionDecisionReason, ...more },
  };
}

function updatedInput({ args }: Decision & { type: 'allow' }): JsonObject {
  return args === undefined ? {} : { updatedInput: args };
}

function postToolUse(additionalContext: string): JsonObject {
  return { hookSpecificOutput: { hookEventName: 'PostToolUse', additionalContext } };
}

/** Exit code 2 blocks; an agent that reads stdout nevertheless finds a denial there. */
function blocked(output: JsonObject, reason: string): HookAnswer {
  return { stdout: JSON.stringify(output), stderr: reason, exitCode: 2 };
}

/** The coding agents with hooks that Countersign knows, by the name on the command line. */
export const codingAgents = { 'claude-code': claudeCode, codex } as const satisfies Record<string, CodingAgent>;

/** The name of a coding agent on the command line. */
export type AgentName = keyof typeof codingAgents;

/** The names of all coding agents. */
export const agentNames = Object.keys(codingAgents) as readonly AgentName[];
