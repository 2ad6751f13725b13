import type { CodingAgent } from '../agent.js';
import { claudeCode, preToolUseAllow } from './claude-code.js';

const { defer: _defer, ...sameForm } = claudeCode;

export const codex: CodingAgent = {
  ...sameForm,
  title: 'Codex',
  // The tools of plugins begin with "mcp__". A server that a plugin brings decides what reading one of its resources does.
  readOnlyTools: ['update_plan', 'view_image'],
  // Codex takes an "allow" without arguments for a fault of the hook: silence lets the tool run.
  allow: (allowed) => (allowed.args === undefined ? null : preToolUseAllow(allowed)),
  failsOpen: ({ permission_mode: mode }) =>
    mode === 'bypassPermissions'
      ? 'Codex runs a tool in bypass mode when its hook crashes or times out, and ignores hooks that are not trusted. Trust the hook, keep the sandbox on, and set a "timeout" above --hold.'
      : null,
};
