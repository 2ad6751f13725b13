import { join } from 'node:path';
import type { IdempotencyStore } from './idempotency.js';
import { createSessions } from './inbox/sessions.js';
import type { SessionPorts, Sessions } from './inbox/sessions.js';
import { createIdempotencyStore } from './sqlite/idempotency-store.js';
import { createSessionStore } from './sqlite/session-store.js';

/** What a gateway stores in its data folder besides the read model. None of it is authoritative about a call. */
export interface GatewayFiles {
  readonly idempotency: IdempotencyStore;
  readonly sessions: Sessions;
  readonly close: () => void;
}

/** Opens the stores of the idempotent responses and of the inbox's sessions. */
export function openGatewayFiles(folder: string, ports: Omit<SessionPorts, 'store'>): GatewayFiles {
  const idempotency = createIdempotencyStore(join(folder, 'idempotency.db'));
  const store = createSessionStore(join(folder, 'sessions.db'));
  return {
    idempotency,
    sessions: createSessions({ ...ports, store }),
    close: () => {
      store.close();
      idempotency.close();
    },
  };
}
