import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { tenantOf } from '@countersign/audit';
import { printable } from '@countersign/text';
import { emptyFolder } from '../audit/output-folder.js';
import { createProgress } from '../audit/progress.js';
import { localError, usageError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Output } from '../invocation.js';
import { openDataFolder } from '../sqlite/data-folder.js';

/** The options of `countersign audit cut`. */
export interface CutOptions {
  readonly at: number;
  readonly output: string;
  readonly tenant?: string;
}

/** `countersign audit cut`: copies a damaged log, and cuts it before the first event that is not what was recorded. */
export async function cut(output: Output, named: string | undefined, options: CutOptions): Promise<ExitCode> {
  const folder = resolve(named ?? output.terminal.env['COUNTERSIGN_DATA'] ?? './data');
  if (!existsSync(join(folder, 'events.db'))) {
    throw usageError(`There is no log in ${folder}.`, 'Name a data folder, or set COUNTERSIGN_DATA.');
  }
  const { copyLog, cutLog, EventStoreUnavailableError, lockFolder } = await import('@countersign/event-store');
  try {
    const lock = lockFolder(folder);
    try {
      const { position, total } = await checkedPlace(output, folder, options);
      const copy = emptyFolder(options.output);
      copyLog(folder, copy);
      cutLog(folder, position);
      output.printJson({ end: position, from: total, copy });
      output.print(
        { text: `The log ends at position ${String(position)}. It ended at ${String(total)}.` },
        { text: `The whole log is in ${printable(copy)}: see which calls are touched with countersign audit salvage.` },
        { text: `Start once with COUNTERSIGN_ACCEPT_LOG_END=${String(position)}, which records the loss.` },
      );
      return exitCodes.ok;
    } finally {
      lock.release();
    }
  } catch (error) {
    if (!(error instanceof EventStoreUnavailableError)) throw error;
    throw localError('notReady', 'in-use', `${error.message}.`, 'Stop the server for as long as this takes.');
  }
}

interface Place {
  /** The last position before the first damage. */
  readonly position: number;
  /** The last position that is known of the log. */
  readonly total: number;
}

/** The place of the damage, if it is the one that was named. @throws CliError when nothing is damaged, or something else is. */
async function checkedPlace(output: Output, folder: string, { at, tenant: wanted }: CutOptions): Promise<Place> {
  const source = openDataFolder(folder);
  const progress = createProgress(output, source.total, 'events');
  const tenants = new Map<string, number>();
  try {
    let position = 0;
    for await (const { stored, damage, done } of source.events()) {
      if (damage.some(({ check }) => check === 'store')) {
        checkIndex(tenants, wanted, at);
        return { position, total: source.known };
      }
      position = done;
      const tenant = stored === undefined ? undefined : tenantOf(stored);
      if (tenant !== undefined) tenants.set(tenant, (tenants.get(tenant) ?? 0) + 1);
      progress.show(position, done);
    }
  } finally {
    progress.clear();
    source.close();
  }
  const remedy = 'Restore a backup where the log contradicts what was signed: docs/operations.md says how.';
  throw localError('refused', 'not-damaged', 'Every event of the log is what was recorded: nothing is cut.', remedy);
}

function checkIndex(tenants: ReadonlyMap<string, number>, wanted: string | undefined, at: number): void {
  if (wanted === undefined && tenants.size > 1) {
    throw usageError(`The log has several tenants: ${[...tenants.keys()].join(', ')}.`, 'Name one with --tenant.');
  }
  const [only = 0] = tenants.values();
  const index = wanted === undefined ? only : (tenants.get(wanted) ?? 0);
  if (index === at) return;
  const remedy = 'Compare with `countersign audit verify`, and name that index.';
  throw localError(
    'refused',
    'other-place',
    `The first damage is at index ${String(index)}, not ${String(at)}.`,
    remedy,
  );
}
