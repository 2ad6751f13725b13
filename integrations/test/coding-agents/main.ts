// npm run test:coding-agents [-- claude-code codex …] [-- --verbose]
// Runs the real coding agents with the configurations of integrations/examples/coding-agents, a scripted model and a Countersign of
// their own. npm installs the agents; after that nothing but this machine is reached.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startOwnServer } from '../../../examples/demo/server.ts';
import { freePort } from '../../../test/ports.ts';
import { agents, type Agent } from './agents.ts';
import { checksOf, type Place } from './checks.ts';
import { installAgent } from './install.ts';

const { values, positionals } = parseArgs({ options: { verbose: { type: 'boolean' } }, allowPositionals: true });
const unknown = positionals.filter((name) => !agents.some((agent) => agent.name === name));
if (unknown.length > 0) {
  print(`There is no agent ${unknown.join(', ')}. Choose from ${agents.map(({ name }) => name).join(', ')}.`);
  process.exit(1);
}

// The exit also ends an agent that runs.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const count = { ok: 0, failed: 0, missing: 0 };
for (const agent of agents) if (positionals.length === 0 || positionals.includes(agent.name)) await check(agent);
print(`${count.ok} checks passed, ${count.failed} failed; ${count.missing} agents could not be installed.`);
process.exitCode = count.failed > 0 ? 1 : 0;

async function check(agent: Agent): Promise<void> {
  const title = `${agent.name} ${agent.version}`;
  let bin: string;
  try {
    bin = await installAgent(agent);
  } catch (error) {
    count.missing += 1;
    print(`${title}: could not be installed here: ${whyOf(error)}`);
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), 'countersign-agents-'));
  const dataFolder = join(folder, 'data');
  const server = await startOwnServer(dataFolder);
  try {
    const place: Place = {
      port: Number(new URL(server.url).port),
      freePort: await freePort(),
      dataFolder,
      approverToken: approverTokenIn(dataFolder),
    };
    for await (const { check: name, seen, problem, log } of checksOf(agent, bin, place)) {
      count[problem === undefined ? 'ok' : 'failed'] += 1;
      print(`${title}: ${name}: ${problem === undefined ? 'ok' : `FAILED, ${problem}`} (${seen})`);
      if (problem !== undefined || values.verbose === true) print(log.replaceAll(/^/gm, '    '));
    }
  } catch (error) {
    count.failed += 1;
    print(`${title}: FAILED, ${String(error)}`);
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

function approverTokenIn(dataFolder: string): string {
  const entries = JSON.parse(readFileSync(join(dataFolder, 'tokens.json'), 'utf8')) as readonly {
    readonly principal: string;
    readonly token: string;
  }[];
  const entry = entries.find(({ principal }) => principal === 'me');
  if (entry === undefined) throw new Error('tokens.json has no token of "me"');
  return entry.token;
}

/** npm names the cause in its first lines. */
function whyOf(error: unknown): string {
  const { stderr = '', message } = error as Error & { readonly stderr?: string };
  return (stderr.trim() || message).split('\n').slice(0, 3).join('; ');
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
