import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Execution } from '../../traffic/journal.js';
import { countedTools } from '../../traffic/tools.js';

/** The tools that the resolvers execute, all of them counted outside of the product. */
export interface ServiceTools {
  readonly toolsFile: string;
  readonly executions: () => readonly Execution[];
  /** Lets the slow tool's executions end. */
  readonly openGate: () => void;
}

/** Runs until the gate is open. */
export const slowTool = 'wait_for_the_gate';

/** The counted tools of the kill rounds, and a slow one that a test controls. */
export async function serviceTools(folder: string): Promise<ServiceTools> {
  const counted = await countedTools(folder);
  const { tools } = JSON.parse(readFileSync(counted.toolsFile, 'utf8')) as { readonly tools: readonly object[] };
  const [module, lines, gate] = ['slow.mjs', 'slow.jsonl', 'gate'].map((name) => join(folder, name));
  if (module === undefined || lines === undefined || gate === undefined) throw new Error('three names, three paths');
  writeFileSync(module, slowSource(lines, gate));
  const toolsFile = join(folder, 'all-tools.json');
  writeFileSync(toolsFile, JSON.stringify({ tools: [...tools, { name: slowTool, module }] }));
  return {
    toolsFile,
    executions: () => [...counted.executions(), ...readLines(lines)],
    openGate: () => {
      appendFileSync(gate, 'open');
    },
  };
}

function slowSource(lines: string, gate: string): string {
  return `
    import { appendFileSync, existsSync } from 'node:fs';
    import { setTimeout as sleep } from 'node:timers/promises';
    export default {
      async execute(args, { callId, idempotencyKey }) {
        const line = { by: 'module', callId, attempt: null, arguments: args, idempotencyKey, atMs: Date.now() };
        appendFileSync(${JSON.stringify(lines)}, JSON.stringify({ ...line, pid: process.pid }) + '\\n');
        while (!existsSync(${JSON.stringify(gate)})) await sleep(20);
        return { waited: true };
      },
    };
  `;
}

function readLines(file: string): readonly Execution[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Execution);
}
