import { dirname } from 'node:path';
import all, { built, fromSource, project, specsIn, withBroker, withoutCoverage } from '../jest.config.mjs';

const asBuilt = { ...built, ...withBroker, ...withoutCoverage };

export default {
  ...all,
  rootDir: dirname(import.meta.dirname),
  projects: [
    project(
      'integrations',
      specsIn('integrations/{mcp-gate/src,coding-agents/src,conformance/src,test/unit}'),
      fromSource,
    ),
    { ...project('adapters', specsIn('integrations/{adapters/*/src,test/adapters,test/process}')), ...asBuilt },
  ],
  coverageDirectory: 'coverage/integrations',
  // The kit and the adapters run in processes, as they were built.
  collectCoverageFrom: ['integrations/{mcp-gate,coding-agents}/src/**/*.ts', '!**/*.spec.ts', '!**/testing/**'],
  coverageThreshold: { global: { lines: 85 } },
};
