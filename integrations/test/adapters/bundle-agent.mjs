// `node bundle-agent.mjs <agent.ts> <folder>`: puts an agent and its framework into a few files, which load faster than thousands. The
// agent's own modules stay in `agent.js`, so that a process can run them again without the framework.
import { rolldown } from 'rolldown';

const [, , input = '', dir = ''] = process.argv;
const bundle = await rolldown({ input, platform: 'node', logLevel: 'silent' });
const groups = [{ name: 'framework', test: /node_modules|[\\/]dist[\\/]/ }];
await bundle.write({ dir, chunkFileNames: '[name].js', cleanDir: true, codeSplitting: { groups } });
await bundle.close();
