import { limits, type JsonValue } from '@countersign/contracts';
import { createClient } from '@countersign/worker-sdk';
import type { AgentEnd } from './agent.js';
import { noteOf } from './decide.js';
import type { HookOptions } from './options.js';
import { findRunningCall } from './same-call.js';

/**
 * Reports what became of a call that the hook allowed. Returns what the model should know about it, or null. A call that
 * did not pass the ledger has no report.
 */
export async function report(
  options: HookOptions,
  { call, status, result }: AgentEnd,
  signal: AbortSignal,
): Promise<string | null> {
  const view = await findRunningCall(createClient(options), call, signal);
  if (view === undefined) return null;
  const resolver = createClient({ ...options, token: options.resolverToken });
  const attempt = 1;
  const value = recordable(result);
  const outcome =
    status === 'succeeded' ? { attempt, status, output: value } : { attempt, status, error: value ?? 'failed' };
  await resolver.reportOutcome(view.callId, outcome, { signal });
  return noteOf(view);
}

/** The tool did run, so an output that is too large must not hide that. */
function recordable(result: JsonValue): JsonValue {
  const bytes = Buffer.byteLength(JSON.stringify(result));
  return bytes <= limits.outputBytesMax ? result : { unrecorded: `The output has ${String(bytes)} bytes.` };
}
