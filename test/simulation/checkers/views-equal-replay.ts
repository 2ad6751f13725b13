import { verifyReadModel } from '@countersign/read-model';
import { createSilentLog } from '@countersign/runtime/testing';
import type { Views } from '../roles/views.ts';
import type { Site } from '../world/cluster.ts';
import type { Checker, Fail } from './checker.ts';

/** Each read model shows the whole log, and equals row for row a replay from zero. */
export function viewsEqualReplay({ world }: Site, fail: Fail, views: () => readonly Views[]): Omit<Checker, 'name'> {
  const { events } = world.log;
  const source = {
    readAll: async (after: number, limit: number) => events.slice(after, after + limit),
    head: async () => events.length,
  };
  const log = createSilentLog();
  return {
    atEnd: async () => {
      for (const { readModel, file } of views()) {
        readModel.flush();
        const position = readModel.checkpoint();
        if (position !== events.length) fail(`a view stands at ${position} of ${events.length}`);
        const { differences } = await verifyReadModel({ file, source, log });
        const [first] = differences;
        if (first !== undefined) fail(`a view differs from the replay: ${JSON.stringify(first)}`);
      }
    },
  };
}
