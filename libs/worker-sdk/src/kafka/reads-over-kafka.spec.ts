import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ToolCallView } from '@countersign/contracts';
import type { Client } from '../ledger/client.js';
import type { RunState } from '../state.js';
import { createKnownCalls } from './known-calls.js';
import { readsOverKafka } from './reads-over-kafka.js';

const view = (state: string): ToolCallView =>
  ({ callId: 'tc_a', runId: 'run-1', state, revision: 1, approval: null }) as unknown as ToolCallView;
const state = { runId: 'run-1', calls: [{ callId: 'tc_a' }, { callId: null }] } as unknown as RunState;

let isListening = true;
let asked: string[] = [];
const open = (now: string) => {
  const known = createKnownCalls({ monotonic: () => 0 });
  const client = {
    getRun: async () => {
      asked.push('run');
      return { calls: [view(now)] };
    },
    getToolCall: async () => {
      asked.push('call');
      return view(now);
    },
  } as unknown as Client;
  return { known, reads: readsOverKafka({ client, known, isListening: () => isListening }) };
};
beforeEach(() => {
  isListening = true;
  asked = [];
});

describe('the reads of a worker over Kafka', () => {
  it('ask the ledger once for calls that are waited for', async () => {
    const { reads } = open('awaiting_approval');
    for (let looks = 0; looks < 3; looks += 1) {
      expect(await reads.calls(state)).toHaveLength(1);
      expect(await reads.call('tc_a')).toMatchObject({ state: 'awaiting_approval' });
    }
    expect(asked).toEqual(['run']);
  });

  it('ask it each time for the calls as they are now, because an event may be late', async () => {
    const { reads } = open('awaiting_approval');
    await reads.calls(state);
    await reads.callsNow(state);
    await reads.callNow('tc_a');
    expect(asked).toEqual(['run', 'run', 'call']);
  });

  it('ask it each time while the events topic is not read', async () => {
    const { reads } = open('awaiting_approval');
    isListening = false;
    for (let looks = 0; looks < 2; looks += 1) await reads.calls(state);
    await reads.call('tc_a');
    expect(asked).toEqual(['run', 'run', 'call']);
  });

  it.each([
    ['was reported', 'succeeded', []],
    ['was not reported, even if nothing was heard since', 'approved', ['call']],
  ])('read a call after its run that %s', async (_how, after, expected) => {
    const { known, reads } = open(after);
    await reads.calls(state);
    known.claiming('tc_a');
    asked = [];
    expect(await reads.afterRun('tc_a')).toMatchObject({ state: after });
    expect(asked).toEqual(expected);
  });
});
