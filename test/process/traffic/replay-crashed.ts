import { runCli } from '../cli/run-cli.js';
import type { CliPlace } from '../cli/run-cli.js';

/**
 * What the operator does with a message that three processes in a row died with: it is among the dead letters, and nothing handles it
 * before it is replayed. Returns how many there were.
 */
export async function replayCrashed(place: CliPlace): Promise<number> {
  const { out } = await runCli(place, ['dead-letters', 'list', '--json']);
  const letters = out
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { id: string; code: string });
  const crashed = letters.filter(({ code }) => code === 'crashed');
  for (const { id } of crashed) await runCli(place, ['dead-letters', 'replay', id]);
  return crashed.length;
}
