import type { CodingAgent } from '../agent.js';
import { claudeCode } from './claude-code.js';
import { allowed, denied, noDefer, readClaudeCall } from './claude-form.js';

export const codex: CodingAgent = {
  ...claudeCode,
  title: 'Codex',
  readOnlyTools: ['update_plan', 'view_image', 'list_mcp_resources', 'read_mcp_resource'],
  readEnd: (input) => ({ call: readClaudeCall(input), status: 'succeeded', result: input['tool_response'] ?? null }),
  write: (decision) => {
    if (decision.type === 'defer') return denied(noDefer);
    if (decision.type !== 'allow') return claudeCode.write(decision);
    // Codex takes an "allow" without arguments for a fault of the hook: silence lets the tool run.
    return decision.args === undefined ? null : allowed(decision);
  },
  failsOpen: ({ permission_mode: mode }) =>
    mode === 'bypassPermissions'
      ? 'Codex runs a tool in bypass mode when its hook crashes or times out, and ignores hooks that are not trusted. Trust the hook, keep the sandbox on, and set a "timeout" above --hold.'
      : null,
};
