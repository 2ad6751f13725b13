import { isSettled } from '@countersign/contracts';
import type { Client } from '../ledger/client.js';
import { callsOfState } from '../ledger/read-run.js';
import type { CallReads } from '../ledger/requests.js';
import type { KnownCalls } from './known-calls.js';

/** The dependencies of reads. */
export interface ReadPorts {
  readonly client: Client;
  readonly known: KnownCalls;
  /** Returns whether the events topic is being read now. */
  readonly isListening: () => boolean;
}

/** The reads, and one call as the ledger has it now. */
export interface ReadsOverKafka extends CallReads {
  readonly callNow: CallReads['call'];
}

/** Reads that ask the ledger only for calls that are in doubt; for all of them while the events topic is not read. */
export function readsOverKafka({ client, known, isListening }: ReadPorts): ReadsOverKafka {
  const get = (callId: string) => (isListening() ? known.get(callId) : undefined);
  const callNow: CallReads['call'] = async (callId, options) => {
    const from = known.now();
    const view = await client.getToolCall(callId, options);
    known.learn([view], from);
    return view;
  };
  const callsNow: CallReads['callsNow'] = async (state, options = {}) => {
    known.follow(state.runId);
    const from = known.now();
    const all = await callsOfState(client, state, options);
    known.learn(all, from);
    return all;
  };
  return {
    callNow,
    callsNow,
    calls: async (state, options) => {
      known.follow(state.runId);
      const views = state.calls.flatMap(({ callId }) => (callId === null ? [] : [get(callId)]));
      return views.includes(undefined) ? callsNow(state, options) : views.filter((view) => view !== undefined);
    },
    call: async (callId, options) => get(callId) ?? callNow(callId, options),
    afterRun: async (callId, options) => {
      known.released(callId);
      // Settled: its report was answered. Anything else may be older than the claim.
      const view = known.get(callId);
      return view !== undefined && isSettled(view.state) ? view : callNow(callId, options);
    },
  };
}
