import { join } from 'node:path';
import type { SealedTexts } from '@countersign/event-store';
import { createProjector, createProjectorCheck } from '@countersign/projector';
import { openReadModel } from '@countersign/read-model';
import type { FileReadModel, ReadModel } from '@countersign/read-model';
import { makeFolderOf } from '@countersign/runtime';
import { isStoreAway, untilDone } from './role-process.js';
import type { LedgerStore, RoleProcess } from './role-process.js';

/** The process's own replica of the read model, following the store; it has caught up when this resolves. */
export async function openViews(process: RoleProcess, { store, vault, unreadable }: LedgerStore): Promise<ReadModel> {
  const { config, clock, log, check, onStop, stopping } = process;
  makeFolderOf('COUNTERSIGN_DATA', config.dataFolder);
  const file = join(config.dataFolder, 'read-model.db');
  const readModel = await untilDone(process, 'read-model', isStoreAway, () => {
    check(createProjectorCheck(() => ({ status: 'starting' })));
    const open = (seal?: SealedTexts, onProgress?: () => void): Promise<FileReadModel> =>
      openReadModel({ file, source: store, log, seal, onProgress });
    return vault === null ? open() : vault.openRows(open);
  });
  onStop(() => {
    readModel.close();
  });
  unreadable.know(readModel.unreadable.all());
  const projector = createProjector({ store, readModel, clock, log });
  check(createProjectorCheck(projector.health));
  onStop(() => projector.stop());
  await Promise.race([projector.start(), aborted(stopping)]);
  return readModel;
}

/** Rejects when the process is asked to stop, so that an unreachable store does not delay it. */
function aborted(stopping: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    stopping.addEventListener('abort', () => {
      reject(stopping.reason as Error);
    });
  });
}
