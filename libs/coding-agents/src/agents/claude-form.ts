import type { JsonObject } from '@countersign/contracts';
import type { Decision, HookAnswer } from '../agent.js';
import { callReader } from '../hook-input.js';

/** The form of the hooks of Claude Code, which Codex has too. */
export const readClaudeCall = callReader({
  session: 'session_id',
  tool: 'tool_name',
  args: 'tool_input',
  id: 'tool_use_id',
});

export function preToolUse(decision: string, reason: string, more: JsonObject = {}): JsonObject {
  return {
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision: decision,
      permissionDecisionReason: reason,
      ...more,
    },
  };
}

/** An allowed call, with the arguments of an edit. */
export function allowed({ args, note }: Decision & { type: 'allow' }, more: JsonObject = {}): JsonObject {
  const input = args === undefined ? {} : { updatedInput: args };
  return preToolUse('allow', note ?? 'allowed by Countersign', { ...input, ...more });
}

export function denied(reason: string): JsonObject {
  return preToolUse('deny', reason);
}

export function postToolUse(additionalContext: string): JsonObject {
  return { hookSpecificOutput: { hookEventName: 'PostToolUse', additionalContext } };
}

/** Exit code 2 blocks; an agent that reads stdout nevertheless finds a denial there. */
export function blocked(output: JsonObject, reason: string): HookAnswer {
  return { stdout: JSON.stringify(output), stderr: reason, exitCode: 2 };
}

/** The reason of a denial where a call is deferred to an agent that cannot wait. */
export const noDefer = 'A person decides in Countersign, and this agent cannot be resumed later.';
