import { TaskState, type Task } from '@a2a-js/sdk';
import type { TaskStore } from '@a2a-js/sdk/server';
import { CountersignError, type Worker } from '@countersign/worker-sdk';

/** Cancels the open calls of a run in the ledger. */
type Canceller = Pick<Worker, 'cancelRun'>;

const failures: readonly (TaskState | undefined)[] = [TaskState.TASK_STATE_FAILED, TaskState.TASK_STATE_REJECTED];
const ends: typeof failures = [...failures, TaskState.TASK_STATE_CANCELED, TaskState.TASK_STATE_COMPLETED];

/**
 * Returns the task store, which then also cancels the open calls of a task that is saved as cancelled, failed or rejected.
 * All processes save their tasks there, and the SDK saves some cancelled tasks without asking the executor. A task that
 * has ended keeps its state.
 */
export function cancellingTaskStore(store: TaskStore, worker: Canceller): TaskStore {
  return {
    load: (taskId, context) => store.load(taskId, context),
    list: (params, context) => store.list(params, context),
    save: async (task, context) => {
      const saved = await store.load(task.id, context);
      const [before, after] = [stateOf(saved), stateOf(task)];
      // The SDK writes a task event over a task that has ended, and the agent would run for it again.
      if (hasEnded(saved) && after !== before) return;
      const isCancel = after === TaskState.TASK_STATE_CANCELED && after !== before;
      const isFailure = failures.includes(after) && after !== before;
      // Before the save: when this fails, the client can cancel again.
      if (isCancel) await cancelCalls(worker, task.id);
      await store.save(task, context);
      // And after it: an agent that still runs elsewhere may have requested calls in between.
      if (isCancel) await cancelCalls(worker, task.id);
      // A task also fails because Countersign is unavailable. Then its approvals expire.
      if (isFailure) await cancelCalls(worker, task.id).catch(() => undefined);
    },
  };
}

/** Cancels the open calls of a task that has ended. */
export async function cancelCalls(worker: Canceller, taskId: string): Promise<void> {
  try {
    await worker.cancelRun(taskId, 'The A2A task has ended.');
  } catch (error) {
    // The agent has requested nothing.
    if (!(error instanceof CountersignError && error.code === 'not-found')) throw error;
  }
}

/** A task that has ended accepts no message, so its calls would wait for nothing. */
export function hasEnded(task: Task | undefined): boolean {
  return ends.includes(stateOf(task));
}

function stateOf(task: Task | undefined): TaskState | undefined {
  return task?.status?.state;
}
