import { join } from 'node:path';
import { scenariosFor, startKitServer, tryScenario, type KitServer } from '@countersign/conformance';
import { afterAll, beforeAll, describe, it } from '@jest/globals';

const root = join(import.meta.dirname, '..', '..');

/** Tries the agent of an adapter, `conformance/agent.ts` in its folder, in every scenario of the kit. */
export function kitSuite(adapter: string): void {
  const agent = {
    command: process.execPath,
    args: [join(root, 'libs', 'adapters', adapter, 'conformance', 'agent.ts')],
    capabilities: { pauses: true, streaming: true, nested: true, forge: true },
  };
  let server: KitServer;
  beforeAll(async () => {
    server = await startKitServer(join(root, 'apps', 'cli', 'bin', 'countersign.js'));
  });
  afterAll(async () => {
    await server.stop();
  });

  describe(`an agent with the adapter ${adapter}`, () => {
    it.each(scenariosFor(agent))('$name', (scenario) => tryScenario(scenario, agent, server));
  });
}
