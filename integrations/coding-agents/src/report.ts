import { limits, type JsonValue } from '@countersign/contracts';
import { createClient, isRefusal } from '@countersign/worker-sdk';
import type { AgentEnd } from './agent.js';
import { noteOf, resolverOf, type HookPorts } from './decide.js';
import { inRealFolder } from './folder.js';
import { attemptMark, findRunningCall } from './same-call.js';
import { isOwnDenial } from './why.js';

/**
 * Reports what became of a call that the hook allowed. Returns what the model should know about it, or null. A call that
 * did not pass the ledger has no report.
 */
export async function report(
  { options, marks, signal }: Omit<HookPorts, 'agent'>,
  { call, status, result }: AgentEnd,
): Promise<string | null> {
  const view = await findRunningCall(createClient(options), marks, await inRealFolder(call, options), signal);
  const text = textOf(result);
  if (view === undefined || (status === 'failed' && isOwnDenial(text ?? '', view.callId))) return null;
  const resolver = resolverOf(options);
  // Without the mark the first: the ledger refuses a report of an attempt that is not the latest.
  const attempt = Number(marks.get(attemptMark(view, call))) || 1;
  const send = (value: JsonValue) => {
    const outcome =
      status === 'succeeded' ? { attempt, status, output: value } : { attempt, status, error: value ?? 'failed' };
    return resolver.reportOutcome(view.callId, outcome, { signal });
  };
  const problem = whyNotSent(text);
  if (problem !== undefined) await send({ unrecorded: problem });
  else
    await send(result).catch((error: unknown) => {
      if (!isRefusal(error, 'invalid-request', 'payload-too-large')) throw error;
      return send({ unrecorded: error.message });
    });
  return noteOf(view);
}

/** The result as JSON; undefined where it is nested too deeply for the ledger. */
function textOf(result: JsonValue): string | undefined {
  return isNestedDeeper(result, limits.jsonDepthMax) ? undefined : JSON.stringify(result);
}

/** Without recursion, because nothing limits the depth of a tool's result. */
function isNestedDeeper(value: JsonValue, depthMax: number): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > depthMax) return true;
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? (Object.values(one) as unknown[]) : []));
  }
  return false;
}

/** The tool did run, so an output that cannot be recorded must not hide that. */
function whyNotSent(text: string | undefined): string | undefined {
  if (text === undefined) return 'The output is nested too deeply.';
  const bytes = Buffer.byteLength(text);
  return bytes > limits.outputBytesMax ? `The output has ${String(bytes)} bytes.` : undefined;
}
