import type { JsonObject } from '@countersign/contracts';
import type { CodingAgent } from '../agent.js';
import { callReader, endReader } from '../hook-input.js';

const readCall = callReader({ session: 'sessionId', tool: 'toolName', args: 'toolArgs' });

export const copilot: CodingAgent = {
  title: 'Copilot CLI',
  // Its timeout is 30 s.
  holdMs: 20_000,
  // An extension can replace each of its tools (`overridesBuiltInTool`).
  readOnlyTools: [],
  readCall,
  readEnd: endReader(readCall, { output: 'toolResult', error: 'error' }),
  pass: null,
  allow: ({ args, note }) =>
    decided('allow', note ?? 'allowed by Countersign', args === undefined ? {} : { modifiedArgs: args }),
  deny: (reason) => decided('deny', reason),
  // Not every version takes an exit code for a denial, but all of them read one from stdout.
  failureCode: 0,
  note: (text) => ({ additionalContext: text }),
  failsOpen: () =>
    'Copilot CLI runs a tool when its hook times out, and older versions when it crashes. Set "timeoutSec" above --hold, and trust the folder: otherwise -p runs no hook.',
};

function decided(permissionDecision: string, permissionDecisionReason: string, more: JsonObject = {}): JsonObject {
  return { permissionDecision, permissionDecisionReason, ...more };
}
