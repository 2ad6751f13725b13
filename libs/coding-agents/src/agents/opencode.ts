import type { JsonObject } from '@countersign/contracts';
import type { CodingAgent } from '../agent.js';
import { callReader, textIn } from '../hook-input.js';
import { blocked, noDefer } from './claude-form.js';

const readCall = callReader({ session: 'sessionID', tool: 'tool', args: 'args', id: 'callID' });
const denied = (reason: string): JsonObject => ({ decision: 'deny', reason });

/** OpenCode runs a plugin, which runs the hook: the form is that of our plugin in `examples/coding-agents/opencode`. */
export const opencode: CodingAgent = {
  title: 'OpenCode',
  // It has no timeout.
  holdMs: 540_000,
  readOnlyTools: ['read', 'glob', 'grep', 'list', 'task', 'skill', 'todowrite', 'todoread', 'question'],
  readCall,
  readEnd: (input) => {
    const error = textIn(input, 'error');
    const call = readCall(input);
    if (error !== undefined) return { call, status: 'failed', result: error };
    return { call, status: 'succeeded', result: input['output'] ?? null };
  },
  write: (decision) => {
    switch (decision.type) {
      case 'pass':
        return { decision: 'pass' };
      case 'allow':
        return { decision: 'allow', ...(decision.args === undefined ? {} : { args: decision.args }) };
      case 'deny':
        return denied(decision.reason);
      case 'defer':
        return denied(noDefer);
    }
  },
  writeFailure: (reason) => blocked(denied(reason), reason),
  writeNote: (note) => ({ note }),
  failsOpen: () => null,
};
