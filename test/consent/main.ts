import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { cases } from './cases.ts';
import { check } from './check.ts';
import { defences, isDefence } from './defences.ts';

const help = `npm run consent [-- --server] [-- --without DEFENCE] [-- --teeth]

Compares 2,000 worlds of chance, after the known attacks, with a model of the laws of consent. RUNS=n plays n worlds,
and RUNS=0 the known attacks alone;
SEED=n plays the worlds of one seed again; without it COUNTERSIGN_TEST_SEED is the seed, if there is one. The seed is printed first, and
the first world that breaks a law at once; then a shorter one is looked for, for ten seconds.
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

/** Takes each defence out. Returns how many the known cases miss. */
async function bite(seed: number): Promise<number> {
  let missed = 0;
  for (const name of Object.keys(defences).filter(isDefence)) {
    const played = { runs: Object.keys(cases).length, seed, without: name, server: false };
    const report = await check(played, () => undefined);
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
  const seed = Number(process.env['SEED'] ?? process.env['COUNTERSIGN_TEST_SEED'] ?? randomInt(2 ** 31));
  if (!Number.isSafeInteger(seed)) throw new TypeError('SEED is a whole number.');
  const { without = null } = values;
  if (without !== null && !isDefence(without)) throw new TypeError(`There is no defence "${without}".`);
  return { ...values, runs, seed, without, server: values.server === true };
}

/** Plays what is asked for; returns the exit code. */
async function play(asked: ReturnType<typeof wanted>): Promise<number> {
  const { help: wantsHelp, teeth, ...played } = asked;
  const { runs, seed } = played;
  if (wantsHelp) {
    process.stdout.write(help);
    return 0;
  }
  if (teeth === true) return (await bite(seed)) === 0 ? 0 : 1;
  const say = (text: string): void => void process.stdout.write(`${text}\n`);
  say(`SEED=${String(seed)}`);
  const report = await check(played, say);
  const kept = `${runs === 0 ? 'the known attacks' : `${String(runs)} worlds`} kept the laws of consent`;
  process.stdout.write(`${report ?? kept}\n`);
  return report === undefined ? 0 : 1;
}

let asked;
try {
  asked = wanted();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${help}`);
}
// A world that is stuck keeps its server.
process.exit(asked === undefined ? 2 : await play(asked));
