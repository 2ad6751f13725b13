import { describe, expect, it } from '@jest/globals';
import type { KafkaMessage as Received, MessageSetEntry, RecordBatchEntry } from 'kafkajs';
import { KafkaMessage } from './kafka-message.js';

/** A message as the client has it: its parts are views of the response of a broker. */
function receivedOf(valueBytes: number, responseBytes: number): RecordBatchEntry {
  const response = Buffer.alloc(responseBytes, 'x');
  return {
    key: response.subarray(0, 3),
    value: response.subarray(3, 3 + valueBytes),
    headers: { ce_id: response.subarray(0, 5), several: [response.subarray(0, 1), response.subarray(0, 2)] },
    ...{ timestamp: '1', attributes: 0, offset: '7' },
  };
}
const messageOf = (received: Received) => new KafkaMessage('t', 0, received, { over: false });

describe('a message off Kafka', () => {
  it('that waits keeps nothing of the response that it came in', () => {
    const message = messageOf(receivedOf(100, 1_000_000));
    const before = { key: message.key, value: Buffer.from(message.value), headers: { ...message.headers } };
    message.keepApart();
    const { key, value, headers = {} } = message.received;
    const parts = [key, value, headers['ce_id'], ...(headers['several'] as Buffer[])] as readonly Buffer[];
    for (const part of parts) expect(part.buffer.byteLength).toBeLessThan(20_000);
    expect(parts.map(String)).toEqual(['xxx', 'x'.repeat(100), 'xxxxx', 'x', 'xx']);
    expect([message.key, message.value, message.headers]).toEqual([before.key, before.value, before.headers]);
    expect([message.offset, message.received.offset, message.received.timestamp]).toEqual(['7', '7', '1']);
  });

  it('that is most of its response is not copied', () => {
    const received = receivedOf(900_000, 1_000_000);
    const message = messageOf(received);
    message.keepApart();
    expect(message.received).toBe(received);
  });

  it('without a value or headers waits as well', () => {
    const nothing: MessageSetEntry = { key: null, value: null, timestamp: '1', attributes: 0, offset: '7', size: 0 };
    const message = messageOf(nothing);
    message.keepApart();
    expect([message.isTombstone, message.key, message.headers, message.bytes]).toEqual([true, null, {}, 0]);
  });

  it('with a header without a value waits as well', () => {
    const received = receivedOf(10, 1_000_000);
    const message = messageOf({ ...received, headers: { none: null as never, some: [null as never] } });
    message.keepApart();
    expect([message.headers, String(message.value)]).toEqual([{ none: '', some: '' }, 'x'.repeat(10)]);
  });

  it('says how much memory it takes', () => {
    const { bytes } = messageOf(receivedOf(1000, 5000));
    expect(bytes).toBeGreaterThan(1000);
    expect(bytes).toBeLessThan(1300);
  });
});
