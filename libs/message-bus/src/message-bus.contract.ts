import { afterEach, beforeEach, describe } from '@jest/globals';
import { describeCrashes } from './crashes.contract.js';
import { describeDelivery, describeOrder, describeProgress } from './delivery.contract.js';
import { describeFailures, describeParkedMessages } from './failures.contract.js';
import type { BusUnderTest, MessageBusHarness } from './testing/bus-under-test.js';
import { eventually as eventuallyWithin } from './testing/eventually.js';

/**
 * The contract of every message bus.
 * @param options `withinMs`: the limit of a delivery, including a new member's join. Default: 5,000.
 */
export function messageBusContract(
  name: string,
  open: () => Promise<MessageBusHarness>,
  options: { readonly withinMs?: number } = {},
): void {
  const eventually: BusUnderTest['eventually'] = (check) => eventuallyWithin(check, options.withinMs);
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
