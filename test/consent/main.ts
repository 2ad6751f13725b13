import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { cases } from './cases.ts';
import { histories } from './commands.ts';
import { defences, isDefence } from './defences.ts';
import type { Defence } from './defences.ts';
import { playOnServer, playWithoutServer } from './play.ts';

const help = `npm run consent [-- --server] [-- --without DEFENCE] [-- --teeth]

Compares 2,000 worlds of chance, after the known attacks, with a model of the laws of consent. RUNS=n plays n worlds;
SEED=n plays the worlds of one seed again; without it COUNTERSIGN_TEST_SEED is the seed, if there is one.
--server compares with a running server as well, over HTTP.
--without DEFENCE takes a defence out of the product: then a law must break.
--teeth takes out each defence in turn, and is red when the known attacks miss one.

Defences: ${Object.keys(defences).join(', ')}
`;

const options = {
  help: { type: 'boolean' },
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
  const seed = process.env['SEED'] ?? process.env['COUNTERSIGN_TEST_SEED'];
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

/** The arguments and the environment. Throws a TypeError when one of them cannot be used. */
function wanted() {
  const { values } = parseArgs({ options });
  const runs = Number(process.env['RUNS'] ?? 2_000);
  if (!Number.isSafeInteger(runs) || runs < 0) throw new TypeError('RUNS is a whole number.');
  const { without = null } = values;
  if (without !== null && !isDefence(without)) throw new TypeError(`There is no defence "${without}".`);
  return { ...values, runs, without, server: values.server === true };
}

/** Plays what is asked for; returns the exit code. */
async function play(asked: ReturnType<typeof wanted>): Promise<number> {
  const { help: wantsHelp, teeth, runs, without, server } = asked;
  if (wantsHelp) {
    process.stdout.write(help);
    return 0;
  }
  if (teeth) return (await bite()) === 0 ? 0 : 1;
  const report = await check(runs, { without, server });
  process.stdout.write(`${report ?? `${String(runs)} worlds kept the laws of consent`}\n`);
  return report === undefined ? 0 : 1;
}

let asked;
try {
  asked = wanted();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${help}`);
}
process.exitCode = asked === undefined ? 2 : await play(asked);
