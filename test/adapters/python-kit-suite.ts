import { join } from 'node:path';
import {
  scenariosFor,
  startKitServer,
  tryScenario,
  type AgentUnderTest,
  type KitServer,
} from '@countersign/conformance';
import { afterAll, beforeAll, describe, it } from '@jest/globals';

/** Tries an agent in every scenario that it can do. Returns the server of the scenarios, once it has started. */
export function pythonKitSuite(name: string, agent: AgentUnderTest): () => KitServer {
  let server: KitServer;
  beforeAll(async () => {
    server = await startKitServer(join(import.meta.dirname, '..', '..', 'apps', 'cli', 'bin', 'countersign.js'));
  });
  afterAll(async () => {
    await server.stop();
  });

  describe(name, () => {
    it.each(scenariosFor(agent))('$name', (scenario) => tryScenario(scenario, agent, server));
  });
  return () => server;
}
