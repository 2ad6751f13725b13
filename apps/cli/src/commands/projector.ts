import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { EmbeddedEventStoreOptions, EventStore, SealedTexts } from '@countersign/event-store';
import type { Difference, OnProgress, Progress, RebuildOptions } from '@countersign/read-model';
import type { Log } from '@countersign/runtime';
import { printable } from '@countersign/text';
import { localError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Output } from '../invocation.js';

type Environment = Output['terminal']['env'];

/** The log, and whether this process holds it exclusively while it is open. */
interface OpenLog {
  readonly store: EventStore;
  /** Encrypts the rows of the read model; absent where the log has no keys. */
  readonly seal?: SealedTexts;
  readonly isExclusive: boolean;
}

/** The location of the log: `COUNTERSIGN_EVENTSTORE_URL`, otherwise the data folder. */
async function openLog(env: Environment, folder: string, log: Log): Promise<OpenLog> {
  const { systemClock } = await import('@countersign/runtime');
  const world = { log, clock: systemClock };
  const url = env['COUNTERSIGN_EVENTSTORE_URL'] ?? '';
  if (url !== '') {
    const ofKeeper = ['COUNTERSIGN_KEEPER_URL', 'COUNTERSIGN_KEYS_FOLDER'];
    if (ofKeeper.some((name) => (env[name] ?? '') !== '')) throw rowsOfKeeper();
    const { connectOf, openEventStoreDb } = await import('@countersign/event-store/eventstoredb');
    return { store: openEventStoreDb({ url, connect: await connectOf(url), ...world }), isExclusive: false };
  }
  if (!existsSync(join(folder, 'events.db'))) {
    const detail = `There is no log in ${folder}.`;
    throw localError('notFound', 'no-log', detail, 'Set COUNTERSIGN_DATA, or COUNTERSIGN_EVENTSTORE_URL in a cluster.');
  }
  return { ...(await openFolder(env, folder, world)), isExclusive: true };
}

/** Its key is lent to the running process alone. */
function rowsOfKeeper(): Error {
  const detail = 'The read model is encrypted with a key of the keeper, which this command does not have.';
  const remedy = 'To build it again: stop the process, delete its read-model.db, and start it.';
  return localError('refused', 'keys-at-keeper', detail, remedy);
}

/** The log of a data folder, with the keys of its sensitive values. */
async function openFolder(
  env: Environment,
  folder: string,
  world: Omit<EmbeddedEventStoreOptions, 'folder'>,
): Promise<Pick<OpenLog, 'store' | 'seal'>> {
  const library = await import('@countersign/event-store');
  const { log } = world;
  const raw = await library.openEmbeddedEventStore({ folder, ...world });
  // Keys are made by the server alone. A log with sealed events and without keys cannot be folded.
  if (!existsSync(join(folder, 'keys.db'))) return { store: raw };
  try {
    const own = env['COUNTERSIGN_ROOT_KEY_FILE'] ?? '';
    const rootKeyFile = own === '' ? null : resolve(own);
    const keys = library.openSubjectKeys({ folder, rootKeyFile, log });
    const close = async (): Promise<void> => {
      keys.close();
      await raw.close();
    };
    const store = { ...library.createSealedStore(raw, { keys, log }), close };
    return { store, seal: library.createSealedTexts(keys) };
  } catch (error) {
    await raw.close();
    if (!(error instanceof library.RootKeyError)) throw error;
    throw localError('refused', 'root-key', `${error.message}.`, 'docs/privacy.md says which files belong together.');
  }
}

type Work<T> = (options: RebuildOptions & { readonly isExclusive: boolean }) => Promise<T>;

/** Opens the log and the read model's file, does the work, and closes the log again. */
async function withLog<T>(output: Output, work: Work<T>): Promise<T> {
  const { env } = output.terminal;
  const folder = resolve(env['COUNTERSIGN_DATA'] ?? './data');
  const { createLog } = await import('@countersign/runtime');
  const { EventStoreUnavailableError } = await import('@countersign/event-store');
  // Errors are thrown. The parts underneath would log them a second time.
  const log = createLog({ level: 'silent' });
  const progress = progressLine(output);
  try {
    const { store, seal, isExclusive } = await openLog(env, folder, log);
    const file = join(folder, 'read-model.db');
    try {
      return await work({ file, source: store, log, seal, onProgress: progress.show, isExclusive });
    } finally {
      await store.close();
    }
  } catch (error) {
    if (!(error instanceof EventStoreUnavailableError)) throw error;
    const remedy = 'On one machine, stop the server for as long as this takes; in a cluster, look at EventStoreDB.';
    throw localError('notReady', 'log-unavailable', `${error.message}.`, remedy);
  } finally {
    progress.clear();
  }
}

/** `countersign projector verify`: rebuilds the read model from the log and compares it with the file. */
export async function verify(output: Output): Promise<ExitCode> {
  const { LogRewoundError, verifyReadModel } = await import('@countersign/read-model');
  const verification = await withLog(output, async (options) => {
    if (!existsSync(options.file)) {
      throw localError('notFound', 'no-read-model', `There is no ${options.file}.`, 'Start the process once.');
    }
    try {
      return await verifyReadModel(options);
    } catch (error) {
      if (!(error instanceof LogRewoundError)) throw error;
      const remedy = 'The log was restored from a backup, or is another one: see docs/operations.md.';
      throw localError('refused', 'log-rewound', error.message, remedy);
    }
  });
  const { same, rows, events, position, differences } = verification;
  output.printJson(verification);
  const compared = `${String(rows)} rows against ${String(events)} events, up to position ${String(position)}`;
  output.print(
    same
      ? { text: `The read model is what the log says: ${compared}.`, tone: 'green' }
      : { text: `The read model is NOT what the log says: ${compared}.`, tone: 'red' },
    ...differences.map((difference) => ({ text: `  ${differenceWords(difference)}` })),
    ...(same ? [] : [{ text: 'Rebuild it: countersign projector rebuild' }]),
  );
  return same ? exitCodes.ok : exitCodes.refused;
}

/** `countersign projector rebuild`: rebuilds the read model from the log and replaces the file. */
export async function rebuild(output: Output): Promise<ExitCode> {
  const { openReadModel, rebuildReadModel } = await import('@countersign/read-model');
  const { report, isInPlace } = await withLog(output, async ({ isExclusive, ...options }) => {
    const built = await rebuildReadModel(options);
    // No other process has the folder open, so the replacement can happen now.
    if (isExclusive) (await openReadModel(options)).close();
    return { report: built, isInPlace: isExclusive };
  });
  output.printJson({ ...report, isInPlace });
  const built = `Built from ${String(report.events)} events, up to position ${String(report.position)}.`;
  output.print(
    { text: built, tone: 'green' },
    ...(isInPlace ? [] : [{ text: 'It takes the place of the old one when the process that serves it starts next.' }]),
  );
  return exitCodes.ok;
}

function differenceWords({ table, seq, what, detail }: Difference): string {
  const where = seq === null ? table : `${table} ${String(seq)}`;
  return printable(`${where} ${what}${detail.length === 0 ? '' : `: ${detail.join(', ')}`}`);
}

interface ProgressLine {
  readonly show: OnProgress;
  readonly clear: () => void;
}

/** Rewrites one line on a terminal; prints nothing to a pipe. */
function progressLine({ terminal: { stderr }, json }: Output): ProgressLine {
  const isShown = stderr.isTTY && !json;
  const write = (text: string): void => {
    if (isShown) stderr.write(`\r\u001b[2K${text}`);
  };
  const words = ({ events, position, head }: Progress): string => {
    const percent = head === 0 ? 100 : Math.floor((position / head) * 100);
    return `${String(percent)} %  ${String(events)} events`;
  };
  return {
    show: (progress) => {
      write(words(progress));
    },
    clear: () => {
      write('');
    },
  };
}
