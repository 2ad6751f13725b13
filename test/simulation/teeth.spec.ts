import { describe, expect, it } from '@jest/globals';
import { defences, isDefence } from './defences.ts';
import { judgedDefences } from './judged-defences.ts';
import { sim, simTimeoutMs } from './sim.ts';

describe('the simulation', () => {
  it(
    'notices every defence that is taken out',
    () => {
      const { status, output } = sim(['--teeth'], {});
      const noticed = Object.keys(defences).filter((name) =>
        new RegExp(`without ${name}: seed \\d+ notices`).test(output),
      );
      expect(noticed).toEqual(Object.keys(defences));
      expect(status).toBe(0);
      const said = [...output.matchAll(/without (\S+): seed .*\n {2}the judge (.*)/g)].map(
        ([, name = '', words = '']) => [...[name, wordOf(name, words.split(', '))]],
      );
      expect(Object.fromEntries(said)).toEqual(judgedDefences);
    },
    simTimeoutMs,
  );
});

/** The line of the table, where the judge says it; otherwise what it says. */
function wordOf(name: string, words: readonly string[]): unknown {
  const expected = isDefence(name) ? judgedDefences[name] : undefined;
  if (expected === undefined) return words;
  if ('finds' in expected) return words.includes(`finds ${expected.finds}`) ? expected : words;
  const isListed = !('lists' in expected) || words.includes(`lists ${expected.lists}`);
  return isListed && !words.some((word) => word.startsWith('finds ')) ? expected : words;
}
