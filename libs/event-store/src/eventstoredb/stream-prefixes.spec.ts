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
  passkeysStream: contracts.passkeysStream('default'),
  policyStream: contracts.policyStream('default'),
  shadowPolicyStream: contracts.shadowPolicyStream('default'),
  systemStream: contracts.systemStream('default', 'aaaa'),
  stopStream: contracts.stopStream('default'),
};

it('lists every kind of stream: an append to any other is refused', () => {
  // The others ask about a name.
  const defined = Object.keys(contracts).filter((name) => /(?<!^is.*|^tenantOf.*)Stream$/.test(name));
  expect(Object.keys(names).toSorted()).toEqual(defined.toSorted());
  const unlisted = Object.values(names).filter((name) => !streamPrefixes.some((prefix) => name.startsWith(prefix)));
  expect(unlisted).toEqual([]);
});
