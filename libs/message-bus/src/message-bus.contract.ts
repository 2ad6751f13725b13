import { afterEach, beforeEach, describe } from '@jest/globals';
import { describeCrashes } from './crashes.contract.js';
import { describeDelivery, describeOrder, describeProgress } from './delivery.contract.js';
import { describeFailures, describeParkedMessages } from './failures.contract.js';
import type { BusUnderTest, MessageBusHarness } from './testing/bus-under-test.js';
import { eventually } from './testing/eventually.js';

/**
 * The contract of every message bus.
 */
export function messageBusContract(name: string, open: () => Promise<MessageBusHarness>): void {
  describe(`the message bus: ${name}`, () => {
    let harness: MessageBusHarness;
    beforeEach(async () => {
      harness = await open();
    });
    afterEach(async () => {
      await harness.close();
    });
    const subscribe: BusUnderTest['subscribe'] = (consumer) =>
      harness.bus().subscribe({
        group: 'resolvers',
        topics: [harness.topic],
        retryDelayMsMin: 5,
        retryDelayMsMax: 20,
        ...consumer,
      });

    const underTest: BusUnderTest = { harness: () => harness, subscribe, eventually };
    describeDelivery(underTest);
    describeOrder(underTest);
    describeProgress(underTest);
    describeFailures(underTest);
    describeCrashes(underTest);
    describeParkedMessages(underTest);
  });
}
