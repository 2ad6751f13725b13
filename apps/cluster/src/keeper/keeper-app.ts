import { EventStoreUnavailableError } from '@countersign/event-store';
import type { Log } from '@countersign/runtime';
import { checked, openProcessServer } from '../process-server.js';
import type { ProcessAddress, ProcessServer } from '../process-server.js';
import type { Erasing } from './erasing.js';
import type { Keeper } from './keeper.js';
import { envelope, requests } from './protocol.js';
import type { RequestName } from './protocol.js';

/** Serves the keeper. Resolves when it listens. */
export function openKeeperApp(
  { handlers, version }: Pick<Keeper, 'handlers'> & Pick<Erasing, 'version'>,
  log: Log,
  address: ProcessAddress,
): Promise<ProcessServer> {
  return openProcessServer(
    {
      role: 'the keeper',
      names: Object.keys(requests),
      isPassing: (error) => error instanceof EventStoreUnavailableError,
      answer: async (path, given, token) => {
        const name = path as RequestName;
        const { session, body } = checked(envelope.request, given);
        // Attack: a process confirms or leaves in the name of another one. Each token has sessions of its own.
        const own = `${String(token)} ${session}`;
        const answer = await handlers[name](own, checked<unknown>(requests[name].body, body) as never);
        return { version: version(), answer };
      },
    },
    log,
    address,
  );
}
