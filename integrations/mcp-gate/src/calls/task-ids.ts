import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';

/** The ids of the gate's tasks. */
export interface TaskIds {
  readonly idOf: (callId: string) => string;
  /** Returns undefined for an id that this gate, or an earlier one with the same token, has not given. */
  readonly callIdOf: (taskId: unknown) => string | undefined;
}

/**
 * A task id is the id of the call and a proof that only a holder of the token can make. So a task survives the gate, and
 * no other client reads it. The attack: the id of a call is in each address of the inbox, where other agents may see it.
 */
export function createTaskIds(token: string): TaskIds {
  const proofOf = (callId: string): string =>
    createHmac('sha256', token).update(`mcp-task ${callId}`).digest('base64url');
  return {
    idOf: (callId) => `${callId}.${proofOf(callId)}`,
    callIdOf: (taskId) => {
      const [, callId = '', proof = ''] = /^([^.]+)\.([\w-]{43})$/.exec(typeof taskId === 'string' ? taskId : '') ?? [];
      // As texts: several spellings of base64url are the same bytes, and a task has one id.
      const isOurs = callId !== '' && timingSafeEqual(Buffer.from(proof), Buffer.from(proofOf(callId)));
      return isOurs ? callId : undefined;
    },
  };
}

const prefix = 'mcp-task_';

/** Returns the id of a new call that is a task. Each task is a call of its own, also with equal arguments. */
export function newTaskCallId(): string {
  return `${prefix}${randomUUID()}`;
}

/** Returns whether a call was requested as a task. Its client finds it by the id of the task alone. */
export function isTaskCall({ toolCallId }: { readonly toolCallId: string }): boolean {
  return toolCallId.startsWith(prefix);
}
