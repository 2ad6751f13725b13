import type { JsonObject, OutcomeBody, ToolCallView } from '@countersign/contracts';
import { readToolCall } from '../ledger/answers.js';
import type { Client } from '../ledger/client.js';
import type { KnownCalls } from './known-calls.js';

/** Claims and reports over HTTP that keep `known` up to date, so that no read follows them. */
export function reportsTo(known: KnownCalls, resolver: Client): Client {
  return {
    ...resolver,
    claim: async (callId, body, options) => {
      known.claiming(callId);
      try {
        const claim = await resolver.claim(callId, body, options);
        known.claimed(callId, claim.arguments);
        return claim;
      } catch (error) {
        known.doubt(callId);
        throw error;
      }
    },
    reportOutcome: async (callId, body, options) => {
      const args = known.claimedArguments(callId);
      const answer = await resolver.reportOutcome(callId, body, options);
      const ran = args === undefined ? undefined : ranCall(answer, args, body);
      if (ran !== undefined) {
        known.follow(ran.runId);
        known.learn([ran], known.now());
      }
      return answer;
    },
  };
}

/**
 * Returns the call after its report; undefined when it must be read. The response to a report masks sensitive values,
 * which this worker knows: those of the claim and of its own report.
 */
function ranCall(answer: unknown, args: JsonObject, body: OutcomeBody): ToolCallView | undefined {
  const view = shownCall(answer);
  if (view?.state !== body.status || view.originalArguments !== undefined) return undefined;
  const approval = view.approval && { ...view.approval, arguments: args, hiddenValues: [] };
  const result =
    body.status === 'succeeded' ? { output: body.output, error: null } : { output: null, error: body.error };
  return { ...view, ...result, arguments: args, approval };
}

function shownCall(answer: unknown): ToolCallView | undefined {
  try {
    return readToolCall(answer);
  } catch {
    return undefined;
  }
}
