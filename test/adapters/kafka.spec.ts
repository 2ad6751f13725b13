import { randomUUID } from 'node:crypto';
import { scenarios, tryScenario, type Scenario } from '@countersign/conformance';
import { eventually } from '@countersign/message-bus/testing';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { startKafkaBroker } from '../kafka-broker/broker.ts';
import { openLedgerBehindKafka, type LedgerBehindKafka } from '../kafka/worker-sdk/ledger-behind-kafka.ts';
import { agentOf } from './kit-suite.ts';

// Longer than all waits of a test, and than the start of the topics.
jest.setTimeout(60_000);

let brokers: readonly string[];
let ledger: LedgerBehindKafka;
beforeAll(async () => {
  ({ brokers } = await startKafkaBroker());
  ledger = await openLedgerBehindKafka(brokers, `adapters-${randomUUID()}`);
});
afterAll(() => ledger.close());

it.each(['ai-sdk', 'openai-agents', 'langchain', 'mastra', 'a2a', 'ag-ui'] as const)(
  'an agent with the adapter %s requests over Kafka, and its approved call runs once',
  async (adapter) => {
    const before = ledger.seen.length;
    await tryScenario(scenarios[0] as Scenario, agentOf(adapter), {
      url: ledger.url,
      agentToken: 'agent-token',
      workerToken: 'worker-token',
      approverToken: 'ann-token',
      kafka: { brokers, topicPrefix: ledger.prefix },
    });
    const source = { headers: { ce_type: 'ToolCallRequested', ce_source: '/agents/conformance' } };
    await eventually(() => expect(ledger.seen[before]).toMatchObject(source), 20_000);
  },
);
