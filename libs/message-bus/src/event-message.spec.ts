import { toMaskedEventView } from '@countersign/contracts';
import type { RecordedEvent } from '@countersign/contracts';
import { parseEventMessage, toEventMessage } from './event-message.js';
import { LogMessage } from './embedded/log-message.js';
import { PoisonMessageError } from './message-bus.js';

const recorded: RecordedEvent = {
  eventId: 'b3c9',
  type: 'ExecutionFailed',
  data: {
    attempt: 1,
    executedBy: 'resolver',
    reportedBy: 'r',
    reportedAt: '2030-01-01T00:00:00.000Z',
    error: { token: 'hunter2' },
  },
  metadata: { tenant: 'ü corp', callId: 'tc_1', runId: 'run-1', schemaVersion: 1, commandId: 'c' },
  stream: 'toolCall-tc_1',
  revision: 4,
  position: 77,
  recordedAt: '2030-01-01T00:00:00.123Z',
};

describe('the message of an event', () => {
  it('is a CloudEvent in binary mode, keyed by its run, with sensitive values masked', () => {
    const { key, headers, value } = toEventMessage(recorded);
    expect(key).toBe('run-1');
    expect(headers).toEqual({
      'content-type': 'application/json',
      ce_specversion: '1.0',
      ce_id: 'b3c9',
      ce_source: '/countersign/%C3%BC%20corp',
      ce_type: 'ExecutionFailed',
      ce_time: '2030-01-01T00:00:00.123Z',
      ce_sequence: '77',
      ce_subject: 'tc_1',
    });
    expect(Buffer.from(value).toString()).not.toContain('hunter2');
  });

  it('has neither key nor subject when the event belongs to no call', () => {
    const { key, headers } = toEventMessage({
      ...recorded,
      metadata: { ...recorded.metadata, callId: null, runId: null },
    });
    expect(key).toBeNull();
    expect(headers).not.toHaveProperty('ce_subject');
  });

  it('in addition to the log is the same event as its bytes, masked', () => {
    const { event, value } = new LogMessage('events', recorded);
    expect(event).toEqual(parseEventMessage({ value }));
    expect(JSON.stringify(event)).not.toContain('hunter2');
  });

  it('is read back as the event view', () => {
    const value = Buffer.from(toEventMessage(recorded).value);
    expect(parseEventMessage({ value })).toMatchObject({ eventId: 'b3c9', type: 'ExecutionFailed', position: 77 });
  });

  it('names the tool, the agent and the call as the agent knows it', () => {
    const tool = { toolCallId: 'call-1', toolName: 'delete_file', agentId: 'billing' };
    const named = { ...recorded, metadata: { ...recorded.metadata, tool } };
    expect(parseEventMessage({ value: Buffer.from(toEventMessage(named).value) })).toMatchObject(tool);
  });

  it('of a version that published no tool is readable, and names none', () => {
    const { toolCallId: _1, toolName: _2, agentId: _3, ...old } = toMaskedEventView(recorded);
    const value = Buffer.from(JSON.stringify(old));
    expect(parseEventMessage({ value })).toEqual({ ...old, toolCallId: null, toolName: null, agentId: null });
  });

  it.each(['{broken', '[]', '{"eventId":"x"}', ''])('is poison when it is not one: %s', (text) => {
    expect(() => parseEventMessage({ value: Buffer.from(text) })).toThrow(PoisonMessageError);
  });
});
