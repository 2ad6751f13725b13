import { join } from 'node:path';
import type { IdempotencyStore } from './idempotency.js';
import { createSessions } from './inbox/sessions.js';
import type { SessionPorts, Sessions } from './inbox/sessions.js';
import { createIdempotencyStore } from './sqlite/idempotency-store.js';
import { createSessionStore } from './sqlite/session-store.js';

/** The files of a gateway besides the read model. None of them is authoritative about a call. */
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
