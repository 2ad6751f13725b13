import { fileStopId } from '@countersign/domain';
import type { Stop } from '@countersign/domain';
import type { Clock } from '@countersign/runtime';

/**
 * The stop by a file in the data folder: of every call, as long as `read` returns a reason. It is remembered after its end, because
 * people could not answer meanwhile; a process that starts later knows that it was away.
 */
export function createFileStop(read: () => string | undefined, clock: Pick<Clock, 'now'>): () => readonly Stop[] {
  let last: Stop | undefined;
  const now = (): string => new Date(clock.now()).toISOString();
  return () => {
    const reason = read();
    if (reason !== undefined && last?.lifted !== null) {
      const scope = { tenant: null, agentId: null, toolName: null };
      last = { stopId: fileStopId, scope, reason, declaredBy: 'operator', declaredAt: now(), lifted: null };
    } else if (reason === undefined && last?.lifted === null) {
      last = { ...last, lifted: { by: 'operator', at: now(), reason: 'the file was removed' } };
    }
    return last === undefined ? [] : [last];
  };
}
