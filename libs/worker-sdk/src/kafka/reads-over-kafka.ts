import { isSettled } from '@countersign/contracts';
import type { Client } from '../client.js';
import { callsOfState } from '../read-run.js';
import type { CallReads } from '../requests.js';
import type { KnownCalls } from './known-calls.js';

/** The dependencies of reads. */
export interface ReadPorts {
  readonly client: Client;
  readonly known: KnownCalls;
  /** Returns whether the events topic is being read now. */
  readonly isListening: () => boolean;
}

/** Reads that ask the ledger only for calls that are in doubt; for all of them while the events topic is not read. */
export function readsOverKafka({ client, known, isListening }: ReadPorts): CallReads {
  const get = (callId: string) => (isListening() ? known.get(callId) : undefined);
  const read: CallReads['call'] = async (callId, options) => {
    const from = known.now();
    const view = await client.getToolCall(callId, options);
    known.learn([view], from);
    return view;
  };
  return {
    calls: async (state, options = {}) => {
      known.follow(state.runId);
      const views = state.calls.flatMap(({ callId }) => (callId === null ? [] : [get(callId)]));
      if (!views.includes(undefined)) return views.filter((view) => view !== undefined);
      const from = known.now();
      const all = await callsOfState(client, state, options);
      known.learn(all, from);
      return all;
    },
    call: async (callId, options) => get(callId) ?? read(callId, options),
    afterRun: async (callId, options) => {
      known.released(callId);
      // Settled: its report was answered. Anything else may be older than the claim.
      const view = known.get(callId);
      return view !== undefined && isSettled(view.state) ? view : read(callId, options);
    },
    isRumour: known.isRumour,
  };
}
