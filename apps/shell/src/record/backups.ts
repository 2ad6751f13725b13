import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { eventSchemas } from '@countersign/contracts';
import { crashPoint, readTextFile } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import { z } from 'zod';
import type { SystemLog } from './system-log.js';

/** `countersign backup` leaves such a file in the data folder for each backup, until a process has recorded it. */
const markName = /^backup-[0-9a-f-]{36}\.json$/;
const lookMs = 5_000;

const { Backup: event } = eventSchemas;
const schema = event
  .omit({ processId: true, events: true, checkpoint: true })
  .extend({ tenants: z.record(z.string().min(1), event.pick({ events: true, checkpoint: true })) });

interface BackupsPorts {
  /** The data folder. */
  readonly folder: string;
  readonly system: Pick<SystemLog, 'record' | 'recorded'>;
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly log: Log;
}

/** Records the backups of a data folder, also those that were made while its process was stopped. Nothing waits for it. */
export function followBackups({ folder, system, clock, log }: BackupsPorts): {
  readonly start: () => void;
  /** Resolves when nothing is being recorded. */
  readonly stop: () => Promise<void>;
} {
  let isStopped = false;
  let running = Promise.resolve();
  let cancelTimer = (): void => undefined;
  const warned = new Set<string>();
  const take = async (name: string): Promise<void> => {
    const file = join(folder, name);
    try {
      await recordBackup(system, schema.parse(JSON.parse(readTextFile(file))));
      crashPoint('backup.recorded');
      rmSync(file, { force: true });
    } catch (error) {
      if (!warned.has(name)) log.warn({ error, file }, 'a backup is not recorded yet, or its mark cannot be removed');
      warned.add(name);
    }
  };
  const takeAll = async (): Promise<void> => {
    for (const name of readdirSync(folder)) if (markName.test(name) && !isStopped) await take(name);
  };
  const look = (): void => {
    running = takeAll()
      .catch((error: unknown) => log.warn({ error, folder }, 'the data folder cannot be read'))
      .then(() => {
        if (!isStopped) cancelTimer = clock.setTimer(lookMs, look);
      });
  };
  return {
    start: look,
    stop: async () => {
      isStopped = true;
      cancelTimer();
      await running;
    },
  };
}

/** Records a backup in the log of each tenant that has events in it, once. A repeat does what is left. @throws as the store */
async function recordBackup(
  system: BackupsPorts['system'],
  { tenants, ...backup }: z.infer<typeof schema>,
): Promise<void> {
  for (const [tenant, part] of Object.entries(tenants)) {
    const { backups } = await system.recorded(tenant);
    if (backups.includes(backup.backupId)) continue;
    await system.record(tenant, { type: 'Backup', data: { ...backup, ...part } });
  }
}
