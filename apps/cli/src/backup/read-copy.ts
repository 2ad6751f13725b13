import { createProgress } from '../audit/progress.js';
import type { CliError } from '../cli-error.js';
import type { Output } from '../invocation.js';
import { openDataFolder } from '../sqlite/data-folder.js';
import type { DataFolder } from '../sqlite/data-folder.js';
import { survey } from './survey.js';
import type { Survey } from './survey.js';

/**
 * Reads the whole log of a copy, and takes from it what `take` returns. Undefined: the person has interrupted it.
 * @throws what `faultOf` makes of the first fault
 */
export async function readCopy<Taken>(
  output: Output,
  folder: string,
  faultOf: (damage: string) => CliError,
  take: (found: Survey, source: DataFolder) => Taken,
): Promise<Taken | undefined> {
  const source = openDataFolder(folder);
  const progress = createProgress(output, source.total, 'events');
  try {
    const found = await survey(source.events(), (done) => {
      progress.show(done, done);
      return !output.terminal.interrupted.aborted;
    });
    if (found === undefined) return undefined;
    const [damage] = found.damage;
    if (damage !== undefined) throw faultOf(damage);
    return take(found, source);
  } finally {
    progress.clear();
    source.close();
  }
}
