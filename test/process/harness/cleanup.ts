import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach } from '@jest/globals';

type Undo = () => void | Promise<void>;

const undos: Undo[] = [];

/** Registers a cleanup for the end of the test in any case; the last one registered runs first. */
export function onCleanup(undo: Undo): void {
  undos.push(undo);
}

/** Undoes everything after each test of the calling spec. */
export function cleanUpAfterEach(): void {
  afterEach(undoAll, 120_000);
}

/** Cleans up after the last test of the calling spec, whose tests share one installation. */
export function cleanUpAfterAll(): void {
  afterAll(undoAll, 120_000);
}

async function undoAll(): Promise<void> {
  const failures: unknown[] = [];
  // One after the other from the end; cleanups that are registered meanwhile run as well.
  for (let undo = undos.pop(); undo !== undefined; undo = undos.pop()) {
    try {
      await undo();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, 'the tests could not be cleaned up');
}

/** A folder that is gone after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-process-'));
  onCleanup(() => {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  });
  return folder;
}
