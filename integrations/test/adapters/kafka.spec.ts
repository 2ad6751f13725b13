import { randomUUID } from 'node:crypto';
import {
  scenarios,
  tryScenario,
  type AgentUnderTest,
  type LedgerAddress,
  type Scenario,
} from '@countersign/conformance';
import { eventually } from '@countersign/message-bus/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startKafkaBroker } from '../../../test/kafka-broker/broker.ts';
import { openLedgerBehindKafka, type LedgerBehindKafka } from '../../../test/kafka/worker-sdk/ledger-behind-kafka.ts';
import { agentOf } from './kit-suite.ts';

let brokers: readonly string[];
let ledger: LedgerBehindKafka;
beforeAll(async () => {
  ({ brokers } = await startKafkaBroker());
  ledger = await openLedgerBehindKafka(brokers, `adapters-${randomUUID()}`);
});
afterAll(() => ledger.close());

const address = (): LedgerAddress => ({
  url: ledger.url,
  agentToken: 'agent-token',
  workerToken: 'worker-token',
  approverToken: 'ann-token',
  kafka: { brokers, topicPrefix: ledger.prefix },
});

/** Tries a scenario, and proves that its first request came over Kafka. */
async function tryOverKafka(scenario: Scenario, agent: AgentUnderTest): Promise<void> {
  const before = ledger.seen.length;
  await tryScenario(scenario, agent, address());
  const source = { headers: { ce_type: 'ToolCallRequested', ce_source: '/agents/conformance' } };
  await eventually(() => expect(ledger.seen[before]).toMatchObject(source), 20_000);
}

const named = (words: RegExp): readonly Scenario[] => scenarios.filter(({ name }) => words.test(name));

describe.each(['ai-sdk', 'openai-agents', 'langchain', 'mastra', 'a2a', 'ag-ui'] as const)(
  'an agent with the adapter %s that requests over Kafka',
  (adapter) => {
    const agent = agentOf(adapter);
    afterAll(() => agent.pool?.close());
    it.each(named(/^an approved call runs once|^a denied call/))('$name', (scenario) => tryOverKafka(scenario, agent));
  },
);

describe('an agent with the adapter openai-agents that requests over Kafka', () => {
  // The kit stops requests, claims and outcomes over HTTP, and this agent's requests are messages.
  const agent = agentOf('openai-agents');
  afterAll(() => agent.pool?.close());
  const crashes = named(/^killed/).filter(({ script }) => script.crash?.step !== 'request');
  const duplicates = named(/^two processes|^an old state|^the whole run/);
  it.each([...crashes, ...duplicates])('$name', (scenario) => tryOverKafka(scenario, agent));

  it('killed after its request was on the topic, before the ledger had it: the next process asks once', async () => {
    const killed: Scenario = {
      name: 'killed on the topic',
      script: { turns: [[{ toolCallId: 'c1', toolName: 'refund', arguments: { amount: 50 } }]] },
      run: async (session) => {
        const before = ledger.seen.length;
        await ledger.stopLedger();
        const first = session.start();
        const rest = first.rest().catch(() => undefined);
        await eventually(() => expect(ledger.seen).toHaveLength(before + 1), 20_000);
        await first.kill();
        await rest;
        expect(await session.ledger.callOf('c1')).toBeUndefined();
        await ledger.startLedger();
        const asked = await session.ledger.until('c1', 'awaiting_approval');
        const pause = await session.untilAsked('c1');
        await session.ledger.decide('c1', { type: 'approve' });
        await pause.finish();
        expect(session.ran('refund')).toEqual([{ amount: 50 }]);
        const after = await session.ledger.callOf('c1');
        expect(after).toMatchObject({ state: 'succeeded', approval: { approvalId: asked.approval?.approvalId } });
      },
    };
    await tryOverKafka(killed, agent);
  });
});
