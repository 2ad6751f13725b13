import {
  channelStream,
  deliveryStream,
  refusalsStream,
  runCancellationStream,
  toolCallStream,
} from '@countersign/contracts';
import { streamPrefixes } from '@countersign/event-store/eventstoredb';
import { expect, it } from '@jest/globals';

// A stream name that is not one of ours can be neither written nor followed.
it.each([
  toolCallStream('tc_1'),
  'policy-default',
  refusalsStream('default'),
  runCancellationStream('id'),
  deliveryStream({ approvalId: 'apr_1_1', callId: 'tc_1' }),
  channelStream('ops'),
])('%s is one of ours', (stream) => {
  expect(streamPrefixes.some((prefix) => stream.startsWith(prefix))).toBe(true);
});
