import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { cases } from './cases.ts';
import { histories } from './commands.ts';
import { defences, isDefence } from './defences.ts';
import type { Defence } from './defences.ts';
import { ConsentModel } from './model.ts';
import { hasGuess, mustBeAlike, twinOf } from './twins.ts';
import type { Command } from './words.ts';
import { delegations, people, policies } from './world.ts';
import { openWriteSide } from './write-side.ts';

const options = {
  without: { type: 'string' },
  /** Takes each defence away in turn: the model must notice. */
  teeth: { type: 'boolean' },
} as const;

const [policy] = policies;

async function play(commands: readonly Command[], without: Defence | null): Promise<void> {
  const model = new ConsentModel(people, delegations, policy);
  const subject = openWriteSide(policy, without);
  const twin = hasGuess(commands) ? openWriteSide(policy, without) : null;
  try {
    for (const command of commands) {
      const answer = await subject.run(command);
      model.step(command, answer);
      if (twin !== null) mustBeAlike(answer, await twin.run(twinOf(command)));
    }
  } finally {
    await subject.close();
    await twin?.close();
  }
}

/** Plays the known cases, then worlds of chance. Returns a report of the first broken law. */
async function check(runs: number, without: Defence | null): Promise<string | undefined> {
  const seed = process.env['SEED'];
  const details = await fc.check(
    fc.asyncProperty(histories, (commands) => play(commands, without)),
    {
      examples: Object.values(cases).map((commands) => [commands]),
      numRuns: runs,
      ...(seed !== undefined && { seed: Number(seed) }),
    },
  );
  if (!details.failed) return undefined;
  const commands = details.counterexample?.[0] ?? [];
  return [
    `VIOLATION ${String(details.errorInstance)}`,
    ...commands.map((command) => `  ${JSON.stringify(command)}`),
    `SEED=${String(details.seed)} npm run consent`,
  ].join('\n');
}

async function bite(): Promise<number> {
  let missed = 0;
  for (const name of Object.keys(defences).filter(isDefence)) {
    const report = await check(Object.keys(cases).length, name);
    const what = report === undefined ? 'MISSED' : 'noticed';
    process.stdout.write(`${what}  ${name}: ${report?.split('\n')[0] ?? ''}\n`);
    if (report === undefined) missed += 1;
  }
  return missed;
}

const { values } = parseArgs({ options });
const { without } = values;
if (without !== undefined && !isDefence(without)) {
  process.stderr.write(`There is no defence "${without}". Defences: ${Object.keys(defences).join(', ')}.\n`);
  process.exitCode = 2;
} else if (values.teeth === true) {
  process.exitCode = (await bite()) === 0 ? 0 : 1;
} else {
  const runs = Number(process.env['RUNS'] ?? 2_000);
  const report = await check(runs, without ?? null);
  process.stdout.write(`${report ?? `${String(runs)} worlds kept the laws of consent`}\n`);
  process.exitCode = report === undefined ? 0 : 1;
}
