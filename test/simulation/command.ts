import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { defences, isDefence } from './defences.ts';
import type { Defence } from './defences.ts';
import { knownSeeds, rememberSeeds } from './known-seeds.ts';
import { simulate } from './simulate.ts';
import type { Outcome } from './simulate.ts';

const help = `npm run sim [-- --without DEFENCE] [-- --teeth [--remember]] [-- --digests] [-- --log FOLDER]

Lives through 500 small installations in virtual time, each with its own faults, all of it drawn from a seed, and checks
what Countersign promises. SEED=n replays one and prints what happened; SEEDS=n lives through n, from FIRST_SEED (1) on, and
ALSO_SEEDS=n,n through these as well.
--without DEFENCE takes a defence out of the product: then the run says how many seeds notice.
--teeth takes out each defence in turn, and names a seed that notices: the one which noticed last time, or the first one; red
when none of 200 does. With --remember these seeds are tried first from now on.
--log FOLDER writes the log of each seed that keeps its promises, as FOLDER/SEED.ndjson.
--digests prints the digest of each seed's trace: the same for every run of the same code.

Defences: ${Object.keys(defences).join(', ')}`;

/** The options of the command. */
interface Wanted {
  readonly seeds: readonly number[];
  readonly without: Defence | null;
  readonly digests: boolean;
  /** The folder for the logs. Absent: none is written. */
  readonly log?: string | undefined;
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Runs as the arguments and the environment say; returns the exit code. */
export async function runCommand(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      without: { type: 'string' },
      teeth: { type: 'boolean', default: false },
      remember: { type: 'boolean', default: false },
      digests: { type: 'boolean', default: false },
      log: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const { without = env['DEFENCE'] ?? null, digests, log } = values;
  const [first, count] = [Number(env['SEED'] ?? env['FIRST_SEED'] ?? '1'), Number(env['SEEDS'] ?? '500')];
  const also = (env['ALSO_SEEDS'] ?? '').split(',').filter(Boolean).map(Number);
  if (values.help) {
    say(help);
    return 0;
  }
  if (without !== null && !isDefence(without)) {
    say(`There is no defence "${without}". There are: ${Object.keys(defences).join(', ')}`);
    return 2;
  }
  if (![first, count, ...also].every(Number.isSafeInteger) || count < 1) {
    say('SEED, FIRST_SEED, SEEDS and ALSO_SEEDS are whole numbers.');
    return 2;
  }
  if (values.teeth) return showTeeth(first, values.remember);
  const seeds = [...Array.from({ length: count }, (_, nth) => first + nth), ...also];
  return env['SEED'] === undefined ? sweep({ seeds, without, digests, log }) : replay(first, without);
}

async function replay(seed: number, without: Defence | null): Promise<number> {
  const { trace, events, virtualMs, digest, violations } = await simulate(seed, without);
  say(trace.join('\n'));
  say(`\nseed ${seed}: ${events} events in ${Math.round(virtualMs / 1000)} s, trace ${digest}`);
  for (const { checker, what } of violations) say(`broken: ${checker}: ${what}`);
  return violations.length === 0 ? 0 : 1;
}

async function sweep({ seeds, without, digests, log }: Wanted): Promise<number> {
  const noticedBy = new Map<string, number>();
  const count = seeds.length;
  let [red, events] = [0, 0];
  const startedAt = performance.now();
  for (const [nth, seed] of seeds.entries()) {
    const outcome = await simulate(seed, without);
    events += outcome.events;
    if (digests) say(`${seed} ${outcome.digest}`);
    const [broken] = outcome.violations;
    if (log !== undefined && broken === undefined) writeLog(log, outcome);
    if (broken !== undefined) {
      red += 1;
      noticedBy.set(broken.checker, (noticedBy.get(broken.checker) ?? 0) + 1);
      if (without === null || red === 1) report(outcome, without);
    }
    showProgress(nth + 1, count, red, startedAt);
  }
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (without === null) {
    say(`${count} seeds, ${events} events recorded, ${red} broke a promise; ${seconds} s`);
    return red === 0 ? 0 : 1;
  }
  const by = [...noticedBy].sort((one, other) => other[1] - one[1]).map(([checker, times]) => `${checker} ${times}`);
  say(`without ${without}: ${red} of ${count} seeds notice (${by.join(', ')}); ${seconds} s`);
  return red > 0 ? 0 : 1;
}

function writeLog(folder: string, { seed, log }: Outcome): void {
  writeFileSync(join(folder, `${seed}.ndjson`), log.map((event) => `${JSON.stringify(event)}\n`).join(''));
}

const teethSeedsMax = 200;

async function showTeeth(first: number, remember: boolean): Promise<number> {
  const noticed = new Map<Defence, number>();
  const all = Object.keys(defences).filter(isDefence);
  for (const without of all) {
    const seeds = Array.from({ length: teethSeedsMax }, (_, nth) => first + nth);
    let found: string | undefined;
    for (const seed of [...knownSeeds(without), ...seeds]) {
      const { violations, judged } = await simulate(seed, without);
      const [broken] = violations;
      if (broken === undefined) continue;
      noticed.set(without, seed);
      found = `seed ${seed} notices by ${broken.checker}: ${broken.what}\n  the judge ${[...judged].toSorted().join(', ') || 'says nothing'}`;
      break;
    }
    say(`without ${without}: ${found ?? `none of ${teethSeedsMax} seeds notices`}`);
  }
  if (remember) rememberSeeds(noticed);
  return noticed.size === all.length ? 0 : 1;
}

function report({ seed, violations, trace }: Outcome, without: Defence | null): void {
  process.stderr.write('\n');
  for (const { checker, what } of violations) say(`broken: ${checker}: ${what}`);
  say(
    `The end of what happened:\n${trace.slice(-25).join('\n')}\nSEED=${seed} npm run sim${without === null ? '' : ` -- --without ${without}`}\n`,
  );
}

/** On a terminal a changing line; otherwise one line at the end. */
function showProgress(done: number, count: number, red: number, startedAt: number): void {
  if (!process.stderr.isTTY && done !== count) return;
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  process.stderr.write(`\rsim: ${done} of ${count} seeds, ${red} red, ${seconds} s`);
  if (done === count) process.stderr.write('\n');
}
