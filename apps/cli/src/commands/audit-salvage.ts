import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { salvage as salvageLog } from '../audit/salvage.js';
import { createProgress } from '../audit/progress.js';
import { emptyFolder, openText } from '../audit/output-folder.js';
import type { TextFile } from '../audit/output-folder.js';
import { usageError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Output } from '../invocation.js';
import { openDataFolder } from '../sqlite/data-folder.js';

/** The options of `countersign audit salvage`. */
export interface SalvageOptions {
  readonly output: string;
}

/** `countersign audit salvage`: writes what is sound of a damaged log, and lists what is not. */
export async function salvage(
  output: Output,
  named: string | undefined,
  { output: target }: SalvageOptions,
): Promise<ExitCode> {
  const folder = resolve(named ?? output.terminal.env['COUNTERSIGN_DATA'] ?? './data');
  if (!existsSync(join(folder, 'events.db'))) {
    throw usageError(`There is no log in ${folder}.`, 'Name a data folder, or set COUNTERSIGN_DATA.');
  }
  const into = emptyFolder(target);
  const source = openDataFolder(folder);
  const progress = createProgress(output, source.total, 'events');
  const [sound, unsound] = ['events.ndjson', 'damaged.ndjson'].map((name) => openText(join(into, name))) as [
    TextFile,
    TextFile,
  ];
  try {
    const found = await salvageLog(source, { sound: lineTo(sound), unsound: lineTo(unsound) }, (events, done) => {
      progress.show(events, done);
      return !output.terminal.interrupted.aborted;
    });
    if (found === undefined) return exitCodes.interrupted;
    progress.clear();
    const calls = found.streams.flatMap((stream) => callOf.exec(stream)?.[1] ?? []);
    const report = { ...found, calls };
    writeFileSync(join(into, 'touched.json'), `${JSON.stringify(report, null, 2)}\n`, { mode: 0o600 });
    output.printJson(report);
    output.print(
      { text: `${String(found.sound)} events are sound, ${String(found.unsound)} places are not: ${into}` },
      ...(calls.length === 0
        ? []
        : [{ text: `Calls that are touched: ${calls.slice(0, 20).join(' ')}${more(calls)}` }]),
    );
    return found.unsound === 0 ? exitCodes.ok : exitCodes.unexpected;
  } finally {
    progress.clear();
    await Promise.all([sound.end(), unsound.end()]);
    source.close();
  }
}

/** The stream of a call has its id. */
const callOf = /^toolCall-(tc_[a-z2-7]{26})$/;

function more(calls: readonly string[]): string {
  return calls.length > 20 ? ` and ${String(calls.length - 20)} more, in touched.json` : '';
}

function lineTo(file: TextFile): (value: object) => Promise<void> {
  return (value) => file.write(`${JSON.stringify(value)}\n`);
}
