import { limits, type JsonValue } from '@countersign/contracts';
import { createClient } from '@countersign/worker-sdk';
import type { AgentEnd } from './agent.js';
import { noteOf, resolverOf, type HookPorts } from './decide.js';
import { attemptMark, findRunningCall } from './same-call.js';

/**
 * Reports what became of a call that the hook allowed. Returns what the model should know about it, or null. A call that
 * did not pass the ledger has no report.
 */
export async function report(
  { options, marks, signal }: Omit<HookPorts, 'agent'>,
  { call, status, result }: AgentEnd,
): Promise<string | null> {
  const view = await findRunningCall(createClient(options), call, signal);
  if (view === undefined) return null;
  const resolver = resolverOf(options);
  // Without the mark the first: the ledger refuses a report of an attempt that is not the latest.
  const attempt = Number(marks.get(attemptMark(view, call))) || 1;
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
