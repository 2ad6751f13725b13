import { join } from 'node:path';
import { scenariosFor, startKitServer, tryScenario, type KitServer } from '@countersign/conformance';
import { afterAll, beforeAll, describe, it } from '@jest/globals';

const root = join(import.meta.dirname, '..', '..', '..', '..');
const agent = {
  command: process.execPath,
  args: [join(import.meta.dirname, '..', 'conformance', 'agent.ts')],
  capabilities: { pauses: true, streaming: true, nested: true, forge: true },
};

let server: KitServer;
beforeAll(async () => {
  server = await startKitServer(join(root, 'apps', 'cli', 'bin', 'countersign.js'));
});
afterAll(async () => {
  await server.stop();
});

describe('an agent of the OpenAI Agents SDK', () => {
  it.each(scenariosFor(agent))('$name', (scenario) => tryScenario(scenario, agent, server));
});
