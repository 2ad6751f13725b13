import { existsSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunState } from '@countersign/worker-sdk';

/** Where to see the demo's real effects. */
export interface Scratch {
  readonly workspace: string;
  readonly domainsFile: string;
  readonly ordersFile: string;
  readonly progressFile: string;
}

/** Created once. With the same folder the demo continues where it stopped. */
export function openScratch(folder: string): Scratch {
  const scratch = {
    workspace: join(folder, 'workspace'),
    domainsFile: join(folder, 'domains.json'),
    ordersFile: join(folder, 'orders.db'),
    progressFile: join(folder, 'progress.json'),
  };
  if (existsSync(scratch.domainsFile)) return scratch;
  const outside = join(folder, 'outside');
  mkdirSync(scratch.workspace, { recursive: true });
  mkdirSync(outside, { recursive: true });
  writeFileSync(join(scratch.workspace, 'readme.txt'), 'The agent may do what it likes here.\n');
  writeFileSync(join(outside, 'precious.txt'), "Not the agent's to delete.\n");
  symlinkSync(outside, join(scratch.workspace, 'shortcut'));
  writeFileSync(scratch.domainsFile, JSON.stringify(['docs.example.test']));
  return scratch;
}

/** The agent's progress: enough to continue after a kill. */
export interface Progress {
  readonly runId: string;
  readonly sitePort: number;
  readonly turn: number;
  /** Null until the turn's calls are known to be requested; requesting them again has no further effect. */
  readonly state: RunState | null;
}

export function readProgress(file: string): Progress | undefined {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Progress) : undefined;
}

export function writeProgress(file: string, progress: Progress): void {
  writeFileSync(`${file}.new`, JSON.stringify(progress));
  renameSync(`${file}.new`, file);
}
