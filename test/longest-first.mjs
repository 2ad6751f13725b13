// The order of the specs that run side by side: the longest first, so that none of them is left over at the end, alone.
import Sequencer from '@jest/test-sequencer';

/** The specs that take longest. The first one opens databases by the thousand, which is slow in a worker with a large heap. */
export const longest = [
  'libs/event-store/src/embedded/damage.spec.ts',
  'libs/channels/src/limits.spec.ts',
  'test/process/kills.spec.ts',
  'test/process/cluster/faults/crashes.spec.ts',
  'test/process/crash-points.spec.ts',
  'test/process/cluster/keeper.spec.ts',
  'test/process/large-calls.spec.ts',
  'test/process/erasure.spec.ts',
  'test/process/cluster/kafka/keeper.spec.ts',
  'test/process/cluster/faults/messages.spec.ts',
  'test/process/cluster/faults/outages.spec.ts',
  'test/process/cluster/kafka/notifiers.spec.ts',
  'test/process/cluster/kafka/secured.spec.ts',
  'test/process/cluster/kafka/compose-rights.spec.ts',
  'test/process/worker-sdk.spec.ts',
  'test/process/cli.spec.ts',
  'test/process/demo.spec.ts',
  'test/process/lost-end.spec.ts',
  'test/kafka/contract.spec.ts',
  'test/process/cluster/failures.spec.ts',
  'test/process/cluster/frozen-leader.spec.ts',
  'test/process/cluster/kafka/broker-away.spec.ts',
  'test/process/cluster/kafka/compose.spec.ts',
  'test/process/cluster/gateways.spec.ts',
  'test/process/damage.spec.ts',
  'test/process/cluster/faults/frozen-and-restarted.spec.ts',
  'test/kafka/crashing-members.spec.ts',
  // Jest takes a short file for a short spec, and would begin these at the very end.
  'integrations/test/process/generated-clients.spec.ts',
  'integrations/test/process/mcp/conformance-suite.spec.ts',
  'integrations/test/process/mcp/clients.spec.ts',
  'integrations/test/adapters/packages.spec.ts',
  'integrations/test/process/conformance/kit.spec.ts',
  'integrations/test/adapters/agent-framework.spec.ts',
  'integrations/test/adapters/kafka.spec.ts',
  'integrations/test/adapters/mastra.spec.ts',
  'integrations/test/adapters/openai-agents.spec.ts',
  'integrations/test/adapters/langchain.spec.ts',
  'integrations/test/adapters/ai-sdk.spec.ts',
  'integrations/test/adapters/python.spec.ts',
  'test/process/go/go-examples.spec.ts',
  'test/kafka/outages.spec.ts',
  'test/kafka/security.spec.ts',
  'test/kafka/kafka-producers.spec.ts',
  'test/kafka/worker-sdk-http-requests.spec.ts',
  'test/process/escaped-error.spec.ts',
  'test/simulation/seeds-1.spec.ts',
  'test/simulation/seeds-2.spec.ts',
  'test/simulation/seeds-3.spec.ts',
  'test/consent/consent.spec.ts',
  'test/simulation/teeth.spec.ts',
  'test/simulation/simulation.spec.ts',
];

export default class LongestFirst extends Sequencer {
  sort(tests) {
    const rank = ({ path }) => longest.findIndex((one) => path.endsWith(one)) + 1 || Infinity;
    return super.sort(tests).toSorted((one, other) => compare(rank(one), rank(other)));
  }
}

const compare = (one, other) => (one === other ? 0 : one - other);
