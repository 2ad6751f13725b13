import type { JsonObject } from '@countersign/contracts';
import { objectIn, textIn } from '../hook-input.js';

/** The folder of each session, as the editor opened it. A request for permission does not name it. */
export interface SessionFolders {
  readonly fromEditor: (message: JsonObject) => void;
  readonly fromAgent: (message: JsonObject) => void;
  /** Undefined for a session that the editor did not open. */
  readonly of: (sessionId: string) => string | undefined;
}

/** Requests that open a session whose id comes with the response. */
const opening = ['session/new', 'session/fork'];
/** Requests that open a session that has an id already. */
const reopening = ['session/load', 'session/resume'];

export function createSessionFolders(): SessionFolders {
  const folders = new Map<string, string>();
  /** The folder of each open request for a session, by the JSON of its id. */
  const asked = new Map<string, string>();
  return {
    fromEditor: ({ id, method, params }) => {
      const { sessionId, cwd } = textsIn(objectIn(params));
      if (id === undefined || typeof method !== 'string' || cwd === undefined) return;
      if (opening.includes(method)) asked.set(JSON.stringify(id), cwd);
      if (reopening.includes(method) && sessionId !== undefined) folders.set(sessionId, cwd);
    },
    fromAgent: (message) => {
      if (message['id'] === undefined || 'method' in message) return;
      const key = JSON.stringify(message['id']);
      const cwd = asked.get(key);
      asked.delete(key);
      const { sessionId } = textsIn(objectIn(message['result']));
      if (cwd !== undefined && sessionId !== undefined) folders.set(sessionId, cwd);
    },
    of: (sessionId) => folders.get(sessionId),
  };
}

function textsIn(object: JsonObject = {}): {
  readonly sessionId: string | undefined;
  readonly cwd: string | undefined;
} {
  return { sessionId: textIn(object, 'sessionId'), cwd: textIn(object, 'cwd') };
}
