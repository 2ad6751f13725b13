import { join } from 'node:path';
import {
  scenariosFor,
  startKitServer,
  tryScenario,
  type AgentUnderTest,
  type KitServer,
} from '@countersign/conformance';
import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { agents } from './agents.ts';

const root = join(import.meta.dirname, '..', '..');
const columns = {
  'ai-sdk': 'AI SDK',
  'openai-agents': 'OpenAI Agents',
  langchain: 'LangChain',
  mastra: 'Mastra',
} as const;

type Adapter = keyof typeof columns;

/** The agent of an adapter: `conformance/agent.ts` in its folder. */
export function agentOf(adapter: Adapter): AgentUnderTest {
  return {
    command: process.execPath,
    args: [join(root, 'libs', 'adapters', adapter, 'conformance', 'agent.ts')],
    capabilities: agents[columns[adapter]],
  };
}

/** Tries the agent of an adapter in every scenario of the kit that it can do. */
export function kitSuite(adapter: Adapter): void {
  trySuite(`an agent with the adapter ${adapter}`, agentOf(adapter));
}

/** Tries an agent in every scenario that it can do. Returns the server of the scenarios, once it has started. */
export function trySuite(name: string, agent: AgentUnderTest): () => KitServer {
  let server: KitServer;
  beforeAll(async () => {
    server = await startKitServer(join(root, 'apps', 'cli', 'bin', 'countersign.js'));
  });
  afterAll(async () => {
    await server.stop();
  });

  describe(name, () => {
    it.each(scenariosFor(agent))('$name', (scenario) => tryScenario(scenario, agent, server));
  });
  return () => server;
}
