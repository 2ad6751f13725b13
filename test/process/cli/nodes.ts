import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { CliResult } from './run-cli.js';

/** This Node, and each other one that the machine has: the verifier that is one file runs on older ones too. */
export function nodesOfMachine(): readonly string[] {
  const others = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'node'));
  return [
    ...new Set([process.execPath, ...others].filter((file) => existsSync(file)).map((file) => realpathSync(file))),
  ];
}

/** Runs a script in a folder, on every Node of the machine. */
export function runOnNodes(folder: string, args: readonly string[]): readonly CliResult[] {
  return nodesOfMachine().map((node) => {
    const { status, stdout, stderr } = spawnSync(node, args, { cwd: folder, encoding: 'utf8' });
    return { code: status, out: stdout, err: stderr };
  });
}
