import type { JsonObject } from '@countersign/contracts';
import type { CodingAgent } from '../agent.js';
import { callReader, textIn } from '../hook-input.js';
import { noDefer } from './claude-form.js';

const readCall = callReader({ session: 'sessionId', tool: 'toolName', args: 'toolArgs' });

export const copilot: CodingAgent = {
  title: 'Copilot CLI',
  // Its timeout is 30 s.
  holdMs: 20_000,
  readOnlyTools: [
    'view',
    'grep',
    'rg',
    'glob',
    'read_bash',
    'list_bash',
    'task',
    'update_todo',
    'ask_user',
    'report_intent',
  ],
  readCall,
  readEnd: (input) => {
    const error = textIn(input, 'error');
    const call = readCall(input);
    if (error !== undefined) return { call, status: 'failed', result: error };
    return { call, status: 'succeeded', result: input['toolResult'] ?? null };
  },
  write: (decision) => {
    switch (decision.type) {
      case 'pass':
        return null;
      case 'allow': {
        const { args, note } = decision;
        return decided('allow', note ?? 'allowed by Countersign', args === undefined ? {} : { modifiedArgs: args });
      }
      case 'deny':
        return decided('deny', decision.reason);
      case 'defer':
        return decided('deny', noDefer);
    }
  },
  // Not every version takes an exit code for a denial, but all of them read one from stdout.
  writeFailure: (reason) => ({ stdout: JSON.stringify(decided('deny', reason)), stderr: reason, exitCode: 0 }),
  writeNote: (note) => ({ additionalContext: note }),
  failsOpen: () =>
    'Copilot CLI runs a tool when its hook times out, and older versions when it crashes. Set "timeoutSec" above --hold.',
};

function decided(permissionDecision: string, permissionDecisionReason: string, more: JsonObject = {}): JsonObject {
  return { permissionDecision, permissionDecisionReason, ...more };
}
