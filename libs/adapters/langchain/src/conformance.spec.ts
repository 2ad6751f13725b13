import { join } from 'node:path';
import { afterAll, beforeAll, it } from '@jest/globals';
import { scenariosFor, startKitServer, tryScenario, type KitServer } from '@countersign/conformance';

const folder = join(import.meta.dirname, '..');
const agent = {
  command: process.execPath,
  args: [join(folder, 'conformance', 'agent.ts')],
  capabilities: { pauses: true, streaming: true, nested: true, forge: true },
};

let server: KitServer;
beforeAll(async () => {
  server = await startKitServer(join(folder, '..', '..', '..', 'apps', 'cli', 'bin', 'countersign.js'));
});
afterAll(async () => {
  await server.stop();
});

it.each(scenariosFor(agent))('$name', (scenario) => tryScenario(scenario, agent, server));
