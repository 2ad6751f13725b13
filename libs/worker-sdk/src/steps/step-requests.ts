import { otherDefinition, otherSchema } from '@countersign/contracts';
import type { RequestToolCalls, ToolCallView } from '@countersign/contracts';
import type { Client } from '../ledger/client.js';
import { isRefusal } from '../errors.js';
import type { MayClaim } from '../ledger/may-claim.js';
import { sameCallsOf } from '../ledger/read-run.js';
import { rejectOnAbort } from '../ledger/reject-on-abort.js';
import type { RequestOptions, Requests } from '../ledger/requests.js';

/** The dependencies of the requests of steps. */
export interface StepRequestPorts {
  readonly requests: Requests;
  readonly client: Client;
  /** Returns whether this worker runs the calls of the tool. */
  readonly runsHere: (toolName: string) => boolean;
  readonly mayClaim: MayClaim;
}

/** Requests calls that can be claimed here, and finds those again whose tool has another schema since. */
export function createStepRequests(ports: StepRequestPorts): Pick<Requests, 'toolCalls'> {
  const { requests, client, runsHere, mayClaim } = ports;
  return {
    toolCalls: async (body, options = {}) => {
      if (body.calls.some(({ toolName }) => runsHere(toolName))) await unlessAborted(mayClaim(), options.signal);
      const request = async (asked: RequestToolCalls, now: RequestOptions): Promise<readonly ToolCallView[]> => {
        try {
          return await requests.toolCalls(asked, now);
        } catch (error) {
          const isKnown = isRepeated(error) || isKeyReused(error);
          const same = isKnown ? await sameCallsOf(client, asked, { signal: options.signal }) : undefined;
          if (same === undefined) throw error;
          const withoutKey = { ...now, requestId: undefined, idempotencyKey: undefined };
          // Another request had the key. Without it the server compares the calls, with all that makes them the same.
          if (isKeyReused(error)) return request(asked, withoutKey);
          if (asked.calls.length === 1 || asked.batchMode === 'all-or-nothing') return same;
          // The attack: the server names the first difference alone, and the next call was approved for another folder.
          const views: ToolCallView[] = [];
          for (const call of asked.calls) views.push(...(await request({ ...asked, calls: [call] }, withoutKey)));
          return views;
        }
      };
      return request(body, options);
    },
  };
}

async function unlessAborted(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return work;
  const aborted = rejectOnAbort(signal);
  await Promise.race([work, aborted.promise]).finally(aborted.release);
}

const isKeyReused = (error: unknown): boolean => isRefusal(error, 'idempotency-key-reused');

/**
 * The call is recorded, and it does not run with the tool as it is now: its claim refuses another schema, the MCP gate
 * another definition.
 */
function isRepeated(error: unknown): boolean {
  if (!isRefusal(error, 'tool-call-mismatch')) return false;
  const detail = error.problem?.detail ?? error.message;
  return detail.includes(otherSchema) || detail.includes(otherDefinition);
}
