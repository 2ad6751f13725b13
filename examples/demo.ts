// npm run demo [-- --with-server] [-- --scratch <folder>]
// An agent in a separate process, with real tools on real files, a real web site and a real database. It pauses where
// approval is needed, and continues after the decision. With the same scratch folder it continues where it was stopped.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { isReachable, urlOf } from './demo/connection.ts';
import { openScratch, readProgress } from './demo/scratch.ts';
import { startOwnServer, type OwnServer } from './demo/server.ts';
import { startSite } from './demo/site.ts';

const { values } = parseArgs({ options: { 'with-server': { type: 'boolean' }, scratch: { type: 'string' } } });
const folder =
  values.scratch === undefined ? mkdtempSync(join(tmpdir(), 'countersign-demo-')) : resolve(values.scratch);
mkdirSync(folder, { recursive: true });

const own = values['with-server'] === true ? await startOwnServer(join(folder, 'data')) : undefined;
const env = own === undefined ? process.env : { ...process.env, ...ownEnvironment(own) };
if (await isReachable(urlOf(env))) {
  process.exitCode = await runAgent();
  console.log(`What it did is in ${folder}`);
} else {
  console.error(`No Countersign answers at ${urlOf(env)}.`);
  console.error(
    'Start one in another terminal with `npm start`, or let the demo bring its own: npm run demo -- --with-server',
  );
  process.exitCode = 1;
}
await own?.stop();

function ownEnvironment({ url }: OwnServer): Record<string, string | undefined> {
  const dataFolder = join(folder, 'data');
  return {
    COUNTERSIGN_URL: url,
    COUNTERSIGN_DATA: dataFolder,
    COUNTERSIGN_TOKEN: undefined,
    COUNTERSIGN_TOKENS_FILE: undefined,
  };
}

/** Resolves with the agent's exit code. */
async function runAgent(): Promise<number> {
  // A continued run must find the site at the same address.
  const site = await startSite(readProgress(openScratch(folder).progressFile)?.sitePort);
  const script = join(import.meta.dirname, 'demo', 'agent.ts');
  const agent = spawn(process.execPath, [script, folder, String(site.port), command()], {
    env,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => agent.kill(signal));
  const code = await new Promise<number>((done) => agent.once('exit', (exitCode) => done(exitCode ?? 1)));
  site.close();
  return code;
}

/** How to call the CLI so that it finds this server and its tokens. */
function command(): string {
  const names = ['COUNTERSIGN_URL', 'COUNTERSIGN_DATA'] as const;
  const settings = names.flatMap((name) => (env[name] === undefined ? [] : [`${name}=${env[name]}`]));
  return [...settings, 'npx countersign'].join(' ');
}
