import * as contracts from '@countersign/contracts';
import { expect, it } from '@jest/globals';
import { streamPrefixes } from './event-store-db.js';

/** A name of each stream that the contracts define. */
const names: Readonly<Record<string, string>> = {
  toolCallStream: contracts.toolCallStream('tc_a'),
  batchStream: contracts.batchStream({ tenant: 'default', requestedBy: 'agent', batchCallIds: [] }),
  grantStream: contracts.grantStream('grn_a'),
  refusalsStream: contracts.refusalsStream('default'),
  runCancellationStream: contracts.runCancellationStream('command'),
  deliveryStream: contracts.deliveryStream({ approvalId: null, callId: 'tc_a' }),
  channelStream: contracts.channelStream('slack'),
  subjectStream: contracts.subjectStream('hash'),
};

/** Named by the write side. */
const others = ['policy-default', 'shadow-policy-default'];

it('lists every kind of stream: an append to any other is refused', () => {
  const defined = Object.keys(contracts).filter((name) => name.endsWith('Stream'));
  expect(Object.keys(names).toSorted()).toEqual(defined.toSorted());
  const unlisted = [...Object.values(names), ...others].filter(
    (name) => !streamPrefixes.some((prefix) => name.startsWith(prefix)),
  );
  expect(unlisted).toEqual([]);
});
