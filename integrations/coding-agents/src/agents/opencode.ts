import type { CodingAgent } from '../agent.js';
import { callReader, endReader } from '../hook-input.js';

const readCall = callReader({ session: 'sessionID', tool: 'tool', args: 'args', id: 'callID' });

/** OpenCode runs a plugin, which runs the hook: the form is that of our plugin in `integrations/examples/coding-agents/opencode`. */
export const opencode: CodingAgent = {
  title: 'OpenCode',
  // It has no timeout.
  holdMs: 540_000,
  // A plugin, or a file in `.opencode/tools`, replaces the tool of its name.
  readOnlyTools: [],
  readCall,
  readEnd: endReader(readCall, { output: 'output', error: 'error' }),
  pass: { decision: 'pass' },
  allow: ({ args }) => ({ decision: 'allow', ...(args === undefined ? {} : { args }) }),
  deny: (reason) => ({ decision: 'deny', reason }),
  failureCode: 2,
  note: (text) => ({ note: text }),
  failsOpen: () => null,
};
