import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Agent } from './agents.ts';

const cache = join(import.meta.dirname, '..', '..', '..', '.cache', 'coding-agents');

/** Installs the pinned version of an agent into `.cache/coding-agents`, and returns its command. Throws when npm fails. */
export async function installAgent(agent: Agent): Promise<string> {
  const folder = join(cache, agent.name);
  const bin = join(folder, 'node_modules', '.bin', agent.bin);
  if (existsSync(bin) && installedVersion(folder, agent) === agent.version) return bin;
  mkdirSync(folder, { recursive: true });
  const manifest = {
    private: true,
    dependencies: { [agent.package]: agent.version },
    // Claude Code and OpenCode put the binary of the machine in its place when they are installed.
    allowScripts: { [agent.package]: true },
  };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  // `npm run` hands on the settings of this repository, which run no scripts.
  const npm = ['install', '--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts=false'];
  await promisify(execFile)('npm', npm, { cwd: folder, timeout: 300_000 });
  if (existsSync(bin)) return bin;
  throw new Error(`npm installed ${agent.package}@${agent.version} without the command ${agent.bin}`);
}

function installedVersion(folder: string, agent: Agent): unknown {
  const file = join(folder, 'node_modules', agent.package, 'package.json');
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { version?: unknown }).version : undefined;
}
