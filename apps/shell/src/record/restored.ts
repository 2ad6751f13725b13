import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { EventStoreDamagedError } from '@countersign/event-store';
import type { SystemLog } from './system-log.js';

/** `countersign restore` leaves this file in the data folder, until a start has done what follows from it. */
export const restoredFile = 'restored.json';

const schema = z.strictObject({
  /** The position of the last event of the backup. */
  end: z.int().min(0),
  /** The last position that is known of the log before; `end` where none beyond it is. */
  known: z.int().min(0),
  tenants: z.array(z.string()),
  reason: z.string(),
});

/** What `countersign restore` says about the log of a data folder. */
export type RestoredBackup = z.infer<typeof schema>;

/** Reads the mark of a restore; undefined: there is none. @throws EventStoreDamagedError when it cannot be read. */
export function readRestored(folder: string): RestoredBackup | undefined {
  const file = join(folder, restoredFile);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  const read = schema.safeParse(parsed(text));
  if (read.success) return read.data;
  throw new EventStoreDamagedError(`${file} is not what countersign restore wrote: restore the backup again`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** All that follows from a restore is recorded. */
export function forgetRestored(folder: string): void {
  rmSync(join(folder, restoredFile), { force: true });
}

/** The words for people who are asked again. */
export function restoredWords({ end }: Pick<RestoredBackup, 'end'>): string {
  return `The log was restored from a backup that ends at position ${String(end)}: this call was permitted before, and may have run since.`;
}

/** Begins the log of each tenant with the event that it was restored, once. @throws as the store */
export async function recordRestored(
  system: SystemLog,
  { end, known, tenants, reason }: RestoredBackup,
  newestOf: (tenant: string) => string | undefined,
): Promise<void> {
  for (const tenant of tenants) {
    const { restoredTo } = await system.recorded(tenant);
    if (restoredTo === end) continue;
    const why = `a backup that ends at position ${String(end)} was restored, and events up to position ${String(known)} were known`;
    const positions = { from: Math.max(known, end, 1), to: end };
    const data = { reason, checkpoint: newestOf(tenant) ?? null, why, ...positions, restoredAt: system.now() };
    await system.record(tenant, { type: 'LogRestored', data });
  }
}
