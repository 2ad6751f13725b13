import { randomUUID } from 'node:crypto';
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';

type Members = Readonly<Record<string, unknown>>;

/** The work of a task: its result, or what it asks the client meanwhile. */
export interface Work {
  /** Resolves to the answers, when all of them are there. */
  readonly ask: (inputRequests: Members) => Promise<Members>;
  /** Aborts when the client cancels the task. */
  readonly signal: AbortSignal;
}

interface Task {
  state: Members;
  inputRequests: Members;
  answers: Members;
  answered: () => void;
  readonly cancelled: AbortController;
}

const tasks = new Map<string, Task>();
const unlimited = { ttlMs: null, pollIntervalMs: 100 };

/** Returns the result that makes a task of a call, as the extension for tasks describes it. The SDK has none of its own. */
export function taskOf(work: (around: Work) => Promise<Members>): Members {
  const taskId = randomUUID();
  const createdAt = new Date().toISOString();
  const base = { taskId, createdAt, lastUpdatedAt: createdAt, ...unlimited };
  const cancelled = new AbortController();
  const task: Task = {
    ...{ state: { ...base, status: 'working' }, inputRequests: {}, answers: {} },
    ...{ answered: () => undefined, cancelled },
  };
  tasks.set(taskId, task);
  const end = (state: Members): void => {
    if (cancelled.signal.aborted) return;
    task.inputRequests = {};
    task.state = { ...base, lastUpdatedAt: new Date().toISOString(), ...state };
  };
  const ask: Work['ask'] = (inputRequests) =>
    new Promise((resolve) => {
      task.inputRequests = inputRequests;
      task.answered = () => {
        if (Object.keys(task.inputRequests).length === 0) resolve(task.answers);
      };
    });
  work({ ask, signal: cancelled.signal }).then(
    (result) => {
      end({ status: 'completed', result });
    },
    (error: unknown) => {
      end({ status: 'failed', error: { code: ProtocolErrorCode.InternalError, message: String(error) } });
    },
  );
  return { ...task.state, resultType: 'task' };
}

/** Returns the state of a task, with its open questions. */
export function stateOf(taskId: string): Members {
  const { state, inputRequests } = find(taskId);
  return Object.keys(inputRequests).length === 0 ? state : { ...state, status: 'input_required', inputRequests };
}

/** Takes the answers to open questions. */
export function update(taskId: string, inputResponses: Members): Members {
  const task = find(taskId);
  const given = Object.entries(inputResponses).filter(([key]) => key in task.inputRequests);
  task.answers = { ...task.answers, ...Object.fromEntries(given) };
  task.inputRequests = Object.fromEntries(Object.entries(task.inputRequests).filter(([key]) => !(key in task.answers)));
  task.answered();
  return {};
}

/** Stops a task that works. */
export function cancel(taskId: string): Members {
  const task = find(taskId);
  if (['working', 'input_required'].includes(String(stateOf(taskId)['status']))) {
    task.inputRequests = {};
    task.state = { ...task.state, status: 'cancelled' };
    task.cancelled.abort();
  }
  return {};
}

function find(taskId: string): Task {
  const task = tasks.get(taskId);
  if (task === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Task not found');
  return task;
}
