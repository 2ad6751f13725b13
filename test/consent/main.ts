import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { cases } from './cases.ts';
import { histories } from './commands.ts';
import { defences, isDefence } from './defences.ts';
import type { Defence } from './defences.ts';
import { playOnServer, playWithoutServer } from './play.ts';

const options = {
  without: { type: 'string' },
  /** Takes each defence away in turn: the model must notice. */
  teeth: { type: 'boolean' },
  /** Compares with a running server as well, over HTTP. */
  server: { type: 'boolean' },
} as const;

interface Played {
  readonly without: Defence | null;
  readonly server: boolean;
}

/** Plays the known cases, then worlds of chance. Returns a report of the first broken law. */
async function check(runs: number, played: Played): Promise<string | undefined> {
  const seed = process.env['SEED'];
  // The limits of a history take hundreds of steps.
  const examples = Object.values(cases).filter(({ length }) => !played.server || length < 100);
  const details = await fc.check(
    fc.asyncProperty(histories, (commands) =>
      played.server ? playOnServer(commands) : playWithoutServer(commands, played.without),
    ),
    {
      examples: examples.map((commands) => [commands]),
      numRuns: runs,
      ...(seed !== undefined && { seed: Number(seed) }),
    },
  );
  if (!details.failed) return undefined;
  const commands = details.counterexample?.[0] ?? [];
  return [
    `VIOLATION ${String(details.errorInstance)}`,
    ...commands.map((command) => `  ${JSON.stringify(command)}`),
    `SEED=${String(details.seed)} npm run consent${played.server ? ' -- --server' : ''}`,
  ].join('\n');
}

async function bite(): Promise<number> {
  let missed = 0;
  for (const name of Object.keys(defences).filter(isDefence)) {
    const report = await check(Object.keys(cases).length, { without: name, server: false });
    const what = report === undefined ? 'MISSED' : 'noticed';
    process.stdout.write(`${what}  ${name}: ${report?.split('\n')[0] ?? ''}\n`);
    if (report === undefined) missed += 1;
  }
  return missed;
}

const { values } = parseArgs({ options });
const { without, server = false } = values;
if (without !== undefined && !isDefence(without)) {
  process.stderr.write(`There is no defence "${without}". Defences: ${Object.keys(defences).join(', ')}.\n`);
  process.exitCode = 2;
} else if (values.teeth === true) {
  process.exitCode = (await bite()) === 0 ? 0 : 1;
} else {
  const runs = Number(process.env['RUNS'] ?? 2_000);
  const report = await check(runs, { without: without ?? null, server });
  process.stdout.write(`${report ?? `${String(runs)} worlds kept the laws of consent`}\n`);
  process.exitCode = report === undefined ? 0 : 1;
}
