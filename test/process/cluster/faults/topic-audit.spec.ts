import { deriveCallId } from '@countersign/contracts';
import { describe, expect, test } from '@jest/globals';
import type { Entry } from '../../audit/log.js';
import type { Produced } from './requests-topic.js';
import { eventsTopicComplaints, producedComplaints } from './topic-audit.js';
import type { StoredMessage } from './topic-reader.js';

const callId = deriveCallId('default', 'run', 'call');

function entry(position: number, type: string, data: unknown = {}): Entry {
  const recordedAt = '2030-01-01T00:00:00.000Z';
  const where = { stream: `toolCall-${callId}`, revision: position - 1, recordedAt };
  return { position, type, data, eventId: `e${String(position)}`, callId, runId: 'run', tenant: 'default', ...where };
}

function copyOf({ eventId, type }: Entry): StoredMessage {
  const headers = { ce_id: eventId, ce_type: type };
  return { partition: 0, offset: 0, key: 'run', value: null, headers };
}

const [one, two] = [entry(1, 'ToolCallRequested', { arguments: { a: 1 } }), entry(2, 'ToolCallAllowed')];

describe('the judge of the events topic', () => {
  test('has nothing against copies in order, repeats after them, and messages of others', () => {
    const forged = { ...copyOf(one), headers: { ce_id: 'nobody', ce_type: 'ApprovalResponded' } };
    expect(eventsTopicComplaints([one, two], [copyOf(one), forged, copyOf(two), copyOf(one)])).toEqual([]);
  });

  test('misses what never came', () => {
    expect(eventsTopicComplaints([one, two], [copyOf(two)])).toEqual([
      'ToolCallRequested at 1 never reached the events topic',
    ]);
  });

  test('sees first copies of a run in another order than that of the log', () => {
    expect(eventsTopicComplaints([one, two], [copyOf(two), copyOf(one)])).toEqual(['1 of run stands behind 2']);
  });
});

describe('the judge of what brokers acknowledged', () => {
  const body = { runId: 'run', calls: [{ toolCallId: 'call', arguments: { a: 1 } }] };
  const produced: Produced = { requestId: 'r1', type: 'ToolCallRequested', runId: 'run', body };

  test('is content with what is recorded, and with what is refused', () => {
    expect(producedComplaints([one], [produced])).toEqual([]);
    expect(producedComplaints([entry(1, 'RequestRefused', { requestId: 'r1' })], [produced])).toEqual([]);
  });

  test('names what came to nothing, or to something else', () => {
    const complaint = `ToolCallRequested r1 was acknowledged: no ToolCallRequested of ${callId}, no refusal`;
    expect(producedComplaints([two], [produced])).toEqual([complaint]);
    expect(producedComplaints([entry(1, 'ToolCallRequested', { arguments: { a: 2 } })], [produced])).toEqual([
      complaint,
    ]);
  });
});
