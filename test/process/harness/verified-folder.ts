import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runCli } from '../cli/run-cli.js';
import { inheritedEnvironment } from './environment.js';
import { roomForStart } from './server.js';

/** The read model against a replay. */
export interface Views {
  readonly same: boolean;
  readonly position: number;
  readonly differences: readonly unknown[];
}

/** The result of the product's verifiers for the folder of a stopped process. */
export interface Verified {
  /** The hash chain of the log, from the first event on. */
  readonly chain: { readonly status: string; readonly verified: number };
  readonly views: Views;
  readonly head: number;
}

const run = promisify(execFile);

/** Verifies log and read model of a data folder. @throws when the folder cannot be opened. */
export async function verifyFolder(dataFolder: string): Promise<Verified> {
  const script = join(import.meta.dirname, 'verify-folder.ts');
  const { stdout } = await run(process.execPath, [script, dataFolder], { maxBuffer: 16 * 1024 * 1024 });
  return JSON.parse(stdout) as Verified;
}

/** The read model in each data folder of a cluster against a replay of the event store. @throws when one cannot be compared. */
export async function verifyViews(storeUrl: string, dataFolders: readonly string[]): Promise<readonly Views[]> {
  const script = join(import.meta.dirname, 'verify-views.ts');
  const { stdout } = await run(process.execPath, [...roomForStart, script, storeUrl, ...dataFolders], {
    env: inheritedEnvironment(),
  });
  return JSON.parse(stdout) as readonly Views[];
}

/** The same in words: nothing where all is well. */
export async function folderComplaints(dataFolder: string): Promise<readonly string[]> {
  const { chain, views, head } = await verifyFolder(dataFolder);
  const complaints: string[] = [];
  if (chain.status !== 'ok' || chain.verified !== head) {
    complaints.push(`the hash chain is ${chain.status} after ${chain.verified} of ${head} events`);
  }
  if (!views.same) complaints.push(`the read model is not what a replay gives: ${JSON.stringify(views.differences)}`);
  if (views.position !== head) complaints.push(`the read model stands at ${views.position}, the log at ${head}`);
  return [...complaints, ...(await findingsOf(dataFolder))];
}

/**
 * What an auditor finds in a data folder or an export, without the code that wrote it. Without a key nothing can be
 * proven: exit code 3.
 */
export async function findingsOf(source: string): Promise<readonly string[]> {
  const args = ['audit', 'verify', source, '--all', '--json'];
  const { code, out, err } = await runCli({ folder: tmpdir(), port: 0 }, args);
  if (code === 3) return [];
  return [
    `audit verify ends with ${String(code)}: ${err}`,
    ...out.split('\n').filter((line) => line.includes('"ok":false')),
  ];
}
