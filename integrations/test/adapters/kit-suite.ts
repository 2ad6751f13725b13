import { execFile } from 'node:child_process';
import { basename, extname, join } from 'node:path';
import { promisify } from 'node:util';
import {
  openAgentPool,
  scenariosFor,
  startKitServer,
  tryScenario,
  type AgentUnderTest,
  type Capabilities,
  type KitServer,
  type Scenario,
} from '@countersign/conformance';
import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { agents } from './agents.ts';

// A busy machine takes this long for a scenario with several processes.

const root = join(import.meta.dirname, '..', '..', '..');
const columns = {
  'ai-sdk': 'AI SDK',
  'openai-agents': 'OpenAI Agents',
  langchain: 'LangChain',
  mastra: 'Mastra',
  a2a: 'A2A',
  'ag-ui': 'AG-UI',
  'mcp-gate': 'MCP gate',
} as const;

type Adapter = keyof typeof columns;

const sourceOf = (adapter: Adapter): string =>
  adapter === 'mcp-gate'
    ? join(import.meta.dirname, adapter, 'agent.ts')
    : join(root, 'integrations', 'adapters', adapter, 'conformance', 'agent.ts');

const isNightly = process.env['COUNTERSIGN_TEST_NIGHTLY'] === '1';

/**
 * The crashes after which the worker SDK alone decides what comes next, and does the same as after another crash. The plain agents are tried
 * in them. An adapter is tried in one crash of each kind: the question stays, the call runs, nobody knows the outcome, the outcome is told.
 */
export const crashesOfTheSdk: readonly string[] = [
  'killed before its request reached the ledger: the next process asks once',
  'killed after its claim, before the tool: the model is told that the outcome is not known',
  'killed after the tool, before its outcome was recorded: it does not run again, and the outcome is not known',
];

/** The scenarios that the agent of an adapter is tried in each time, or in the nightly form. */
export function scenariosOfAdapter(agent: AgentUnderTest, isWhole = isNightly): readonly Scenario[] {
  return scenariosFor(agent).filter(({ name }) => isWhole || !crashesOfTheSdk.includes(name));
}

/**
 * An agent whose processes stay: the host runs the agent's file again for each run, and the framework is loaded once. In the
 * nightly form each step of a run is a new process, as for a user of the kit.
 */
export function stayingAgent(host: string, command: string, file: string, capabilities: Capabilities): AgentUnderTest {
  const agent = { command, args: [file], capabilities };
  if (isNightly) return agent;
  return { ...agent, pool: openAgentPool({ command, args: [join(import.meta.dirname, host), file] }) };
}

/** The agent of an adapter: `conformance/agent.ts` in its folder. */
export function agentOf(adapter: Adapter, file = sourceOf(adapter)): AgentUnderTest {
  return stayingAgent('agent-host.mjs', process.execPath, file, agents[columns[adapter]]);
}

/**
 * Tries the agent of an adapter in the scenarios of the kit that it can do. Many processes load the agent, so it is
 * bundled with its framework first.
 */
export function kitSuite(adapter: Adapter): void {
  const agent = agentOf(adapter, bundledAgent(adapter, sourceOf(adapter)));
  trySuite(`an agent with the adapter ${adapter}`, agent, scenariosOfAdapter(agent));
}

/** Bundles an agent before the tests of a suite, and returns the file of the bundle: `name` is its folder in `.cache/kit-agents`. */
export function bundledAgent(name: string, file: string): string {
  const folder = join(root, '.cache', 'kit-agents', name);
  beforeAll(async () => {
    await promisify(execFile)(process.execPath, [join(import.meta.dirname, 'bundle-agent.mjs'), file, folder]);
  });
  return join(folder, `${basename(file, extname(file))}.js`);
}

/** Tries an agent in scenarios: all that it can do, or these. Returns the server of the scenarios, once it has started. */
export function trySuite(name: string, agent: AgentUnderTest, chosen = scenariosFor(agent)): () => KitServer {
  let server: KitServer;
  beforeAll(async () => {
    server = await startKitServer(join(root, 'apps', 'cli', 'bin', 'countersign.js'));
  });
  afterAll(async () => {
    await agent.pool?.close();
    await server.stop();
  });

  describe(name, () => {
    it.each(chosen)('$name', (scenario) => tryScenario(scenario, agent, server));
  });
  return () => server;
}
