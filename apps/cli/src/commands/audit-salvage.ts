import { createWriteStream, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import type { WriteStream } from 'node:fs';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { salvage as salvageLog } from '../audit/salvage.js';
import { createProgress } from '../audit/progress.js';
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
  const [sound, unsound] = [lines(join(into, 'events.ndjson')), lines(join(into, 'damaged.ndjson'))];
  try {
    const found = await salvageLog(source, { sound: sound.write, unsound: unsound.write }, (events, done) => {
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

function emptyFolder(target: string): string {
  const folder = resolve(target);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (readdirSync(folder).length > 0) throw usageError(`${folder} is not empty.`, 'Name a new folder with -o.');
  return folder;
}

interface Lines {
  readonly write: (value: object) => Promise<void>;
  readonly end: () => Promise<void>;
}

function lines(file: string): Lines {
  const stream: WriteStream = createWriteStream(file, { mode: 0o600 });
  const failed = new Promise<never>((_, reject) => stream.once('error', reject));
  failed.catch(() => undefined);
  return {
    write: async (value) => {
      if (!stream.write(`${JSON.stringify(value)}\n`)) await Promise.race([once(stream, 'drain'), failed]);
    },
    end: async () => {
      stream.end();
      await Promise.race([once(stream, 'close'), failed]);
    },
  };
}
