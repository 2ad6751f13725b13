import { expect, test } from '@jest/globals';
import { cleanUpAfterEach } from './harness/cleanup.js';
import { namedCrashPoints } from './harness/crash-points.js';
import { createRandom, seedOfRun } from './harness/random.js';
import { killRound } from './traffic/kill-round.js';
import type { Round } from './traffic/kill-round.js';

/** The most kills of one log before its audit, so that a fault is found soon after its cause. */
const killsPerLogMax = 50;
/** Most of a kill's time is the next start, which uses one core: several logs in parallel use the others. */
const logs = 2;
const users = 8;
/**
 * No channels here: the notifier's crash between sending and recording is in `channels.timing.spec.ts`. Keys are made
 * and erased in `erasure.spec.ts`, and wrapped again in `key-rotation.spec.ts`. Logs are copied and restored in `backup.spec.ts`. The log key is
 * replaced in `log-key-rotation.spec.ts`. Several notaries share a log in a cluster alone
 * (`cluster/kafka/notary.spec.ts`). The time stamps of checkpoints are in `timestamps.spec.ts`.
 */
const crashPoints = namedCrashPoints().filter(
  (name) =>
    !/^(notifier|keys|rotate|erase|restored|backup)\.|^notary\.(shared|cosigned|stamped|sink-tiles?|key-[a-z]+)$/.test(
      name,
    ),
);
/** So many kills meet each crash point in each log. */
const killsEnough = 2 * logs * crashPoints.length;
const killsWanted = Number(process.env['COUNTERSIGN_TEST_KILLS'] ?? '') || killsEnough;
const seed = seedOfRun();

const killsPerRound = killsPerLogMax * logs;
const rounds = Array.from({ length: Math.ceil(killsWanted / killsPerRound) }, (_, index) => ({
  round: index + 1,
  kills: Math.min(killsPerRound, killsWanted - index * killsPerRound),
}));

cleanUpAfterEach();

test('the places at which the process can be told to die', () => {
  expect(crashPoints).toEqual(
    expect.arrayContaining([
      'append.after-commit',
      'append.before-answer',
      'append.before-commit',
      'grant.used',
      'resolver.after-claim',
      'resolver.after-execute',
      'resolver.before-claim',
    ]),
  );
});

test.each(rounds)(
  'round $round of $kills kills: nothing acknowledged is lost, nothing runs twice or unapproved, every call ends',
  async ({ round, kills }) => {
    const results = await Promise.all(
      Array.from({ length: logs }, (_, log) =>
        killRound({
          kills: Math.ceil(kills / logs),
          random: createRandom(seed + round * logs + log),
          crashPoints,
          users,
          prefix: `r${round}.${log + 1}`,
        }),
      ),
    );
    results.forEach(print);
    expect(results.flatMap(({ complaints }) => complaints).slice(0, 30)).toEqual([]);
    for (const { acknowledgements, executions } of results) {
      expect(acknowledgements).toBeGreaterThan(kills / logs);
      expect(executions).toBeGreaterThan(kills / logs / 4);
    }
    // Fewer kills are too few to meet each of them.
    const moments = results.flatMap(({ killer }) => Object.keys(killer.counts()));
    if (kills >= killsEnough) expect(moments).toEqual(expect.arrayContaining(everyMoment));
  },
  killsPerRound * 6000 + 300_000,
);

const everyMoment = ['starting', 'serving', ...crashPoints.map((name) => `at ${name}`)];

function print({ killer, tookMs, scenes, events, acknowledgements, executions }: Round): void {
  const starts = [...killer.startsMs()].sort((one, other) => one - other);
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
  process.stdout.write(
    [
      `kills: ${JSON.stringify(killer.counts())}`,
      `${scenes} scenes, ${events} events, ${acknowledgements} acknowledgements, ${executions} executions`,
      `killing ${seconds(tookMs.kills)}, settling ${seconds(tookMs.settling)}, audit ${seconds(tookMs.audit)}`,
      `start until ready, median ${Math.round(starts[starts.length >> 1] ?? 0)} ms, worst ${Math.round(starts.at(-1) ?? 0)} ms`,
      '',
    ].join('\n'),
  );
}
