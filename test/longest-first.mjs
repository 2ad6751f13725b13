// The order of the specs that run side by side: the longest first, so that none of them is left over at the end, alone.
import Sequencer from '@jest/test-sequencer';

/** Specs that take longer than a minute, the longest first. A wrong order costs time and nothing else. */
const longest = [
  'test/process/kills.spec.ts',
  'test/process/cluster/faults/crashes.spec.ts',
  'test/process/crash-points.spec.ts',
  'test/process/cluster/faults/outages.spec.ts',
  'test/process/cluster/kafka/notifiers.spec.ts',
  'test/process/lost-end.spec.ts',
  'test/kafka/contract.spec.ts',
  'test/process/cluster/failures.spec.ts',
  'test/process/cluster/kafka/broker-away.spec.ts',
  'test/process/cluster/kafka/compose.spec.ts',
  'test/process/cluster/gateways.spec.ts',
  'test/process/damage.spec.ts',
  'test/process/cluster/faults/rolling-restart.spec.ts',
];

export default class LongestFirst extends Sequencer {
  sort(tests) {
    const rank = ({ path }) => longest.findIndex((one) => path.endsWith(one)) + 1 || Infinity;
    return super.sort(tests).toSorted((one, other) => compare(rank(one), rank(other)));
  }
}

const compare = (one, other) => (one === other ? 0 : one - other);
