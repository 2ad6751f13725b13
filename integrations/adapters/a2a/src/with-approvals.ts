import { Role, TaskState, type Message, type Part, type TaskStatus } from '@a2a-js/sdk';
import {
  AgentEvent,
  DefaultExecutionEventBus,
  type AgentExecutionEvent,
  type AgentExecutor,
  type ExecutionEventBus,
  type RequestContext,
  type TaskStore,
} from '@a2a-js/sdk/server';
import {
  approvalUrl,
  askedCall,
  questionText,
  type ApprovalView,
  type AskedCall,
  type Worker,
} from '@countersign/worker-sdk';
import { cancelCalls, cancellingTaskStore, hasEnded } from './cancelling-task-store.js';

/** The connection to Countersign, and the tasks of the server. */
export interface ApprovalsOptions {
  /** It requests the calls of the agent with the A2A task as their run. */
  readonly worker: Pick<Worker, 'client' | 'cancelRun'>;
  /** The store of the tasks. All processes of the agent share it. */
  readonly taskStore: TaskStore;
  /** The address of the inbox. With it, each approval has an address. */
  readonly inboxUrl?: string | undefined;
}

/** One item of `countersign.approvals` in the data part of a task that waits for people. */
export interface OpenApproval extends AskedCall {
  readonly approvalId: string;
  readonly toolCallId: string;
  readonly description: string | null;
  readonly expiresAt: string | null;
  readonly address: string | null;
}

/** The executor and the task store for the request handler of the SDK. It needs both. */
export interface WithApprovals {
  readonly executor: AgentExecutor;
  /** The store of the options. It also cancels the calls of cancelled, failed and rejected tasks. */
  readonly taskStore: TaskStore;
}

/**
 * Returns the agent as an executor whose tasks wait for people. While approvals of the task are pending, the task does not complete:
 * it is `TASK_STATE_INPUT_REQUIRED`, with a data part that names them. Any message to the task lets the agent look again, and
 * the agent asks the ledger; no message is a decision. An approved call that has not run keeps the task open, too. A task
 * that is cancelled or rejected, or that fails, cancels its open calls.
 *
 * @example
 * const { executor, taskStore } = withApprovals({ worker, taskStore: new InMemoryTaskStore() }, agent);
 * const handler = new DefaultRequestHandler(agentCard, taskStore, executor);
 */
export function withApprovals(options: ApprovalsOptions, agent: AgentExecutor): WithApprovals {
  const { worker, inboxUrl } = options;
  const taskStore = cancellingTaskStore(options.taskStore, worker);
  const executing = new Set<RequestContext>();
  // The agent may have requested calls after its task had ended, perhaps in another process.
  const cancelLateCalls = async ({ taskId, context }: RequestContext): Promise<void> => {
    if (hasEnded(await taskStore.load(taskId, context))) await cancelCalls(worker, taskId);
  };
  const runToItsEnd = async (request: RequestContext, eventBus: ExecutionEventBus): ReturnType<typeof run> => {
    try {
      return await run(agent, request, eventBus);
    } finally {
      await cancelLateCalls(request);
    }
  };
  const execute: AgentExecutor['execute'] = async (request, eventBus) => {
    const { hasBegun, held } = await runToItsEnd(request, eventBus);
    const open = await openIn(worker, request.taskId);
    const last =
      open.length === 0
        ? held.flatMap((event) => asTask(request, event))
        : inTask(request, hasBegun, waiting(request, open, inboxUrl));
    for (const event of last) eventBus.publish(event);
  };
  const executor: AgentExecutor = {
    execute: async (request, eventBus) => {
      executing.add(request);
      await execute(request, eventBus).finally(() => executing.delete(request));
    },
    cancelTask: async (taskId, eventBus) => {
      await cancelCalls(worker, taskId);
      await agent.cancelTask(taskId, eventBus);
      // The SDK waits until the task has ended, and no agent runs that could end it.
      if (![...executing].some((request) => request.taskId === taskId)) eventBus.publish(cancelled(taskId));
    },
  };
  return { executor, taskStore };
}

function cancelled(taskId: string): AgentExecutionEvent {
  const status = { state: TaskState.TASK_STATE_CANCELED, message: undefined, timestamp: new Date().toISOString() };
  return AgentEvent.statusUpdate({ taskId, contextId: '', status, metadata: undefined });
}

/**
 * Returns the approvals of the task that are pending, and those of approved calls that have not run: a person may decide
 * while the agent still runs, and a completed task accepts no message.
 */
async function openIn({ client }: ApprovalsOptions['worker'], taskId: string): Promise<readonly ApprovalView[]> {
  const open: ApprovalView[] = [];
  const state = ['awaiting_approval', 'approved'] as const;
  for await (const { approval } of client.eachToolCall({ runId: taskId, state, order: 'oldest' })) {
    if (approval !== null) open.push(approval);
  }
  return open;
}

/** Passes the events on, and holds back those that end the task as completed. */
async function run(agent: AgentExecutor, request: RequestContext, eventBus: ExecutionEventBus) {
  const held: AgentExecutionEvent[] = [];
  const passed: AgentExecutionEvent[] = [];
  const bus = new DefaultExecutionEventBus();
  bus.on('event', (event) => {
    if (held.length > 0 || completes(event)) held.push(event);
    else {
      passed.push(event);
      eventBus.publish(event);
    }
  });
  await agent.execute(request, bus);
  return { hasBegun: passed.length > 0, held };
}

function completes(event: AgentExecutionEvent): boolean {
  return event.kind === 'message' || stateOf(event) === TaskState.TASK_STATE_COMPLETED;
}

function stateOf(event: AgentExecutionEvent): TaskState | undefined {
  return event.kind === 'task' || event.kind === 'statusUpdate' ? event.data.status?.state : undefined;
}

/** A task that waited ends as a task, also when the agent answers with a message. */
function asTask(request: RequestContext, event: AgentExecutionEvent): readonly AgentExecutionEvent[] {
  if (event.kind !== 'message' || request.task === undefined) return [event];
  const state = TaskState.TASK_STATE_COMPLETED;
  return inTask(request, false, { state, message: event.data, timestamp: undefined });
}

/** The first event of an execution must be the task. */
function inTask(
  { taskId, contextId, task, userMessage }: RequestContext,
  hasBegun: boolean,
  status: TaskStatus,
): readonly AgentExecutionEvent[] {
  const working = { state: TaskState.TASK_STATE_WORKING, message: undefined, timestamp: undefined };
  const begun = { id: taskId, contextId, status: working, artifacts: [], history: [userMessage], metadata: undefined };
  const update = AgentEvent.statusUpdate({ taskId, contextId, status, metadata: undefined });
  return hasBegun ? [update] : [AgentEvent.task(task ?? begun), update];
}

function waiting(
  { taskId, contextId }: RequestContext,
  open: readonly ApprovalView[],
  inboxUrl: string | undefined,
): TaskStatus {
  const pending = open.filter(({ state }) => state === 'pending');
  const approvals = pending.map((approval) => openApproval(approval, inboxUrl));
  const questions = approvals.map((approval) =>
    [questionText(approval), approval.address].filter((part) => part !== null).join('  \n'),
  );
  const message: Message = {
    messageId: `waits-for-${open.map(({ approvalId }) => approvalId).join('-')}`,
    taskId,
    contextId,
    role: Role.ROLE_AGENT,
    parts: [
      part('text/plain', { $case: 'text', value: textFor(questions) }),
      part('application/json', { $case: 'data', value: { countersign: { approvals } } }),
    ],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
  return { state: TaskState.TASK_STATE_INPUT_REQUIRED, message, timestamp: undefined };
}

function textFor(questions: readonly string[]): string {
  if (questions.length === 0) return 'People have decided. Send a message to continue.';
  return ['This task waits for people:', ...questions].join('\n\n');
}

function part(mediaType: string, content: NonNullable<Part['content']>): Part {
  return { content, mediaType, filename: '', metadata: undefined };
}

function openApproval(approval: ApprovalView, inboxUrl: string | undefined): OpenApproval {
  const { approvalId, toolCallId, description, expiresAt } = approval;
  const address = inboxUrl === undefined ? null : approvalUrl(inboxUrl, approvalId);
  return { approvalId, toolCallId, ...askedCall(approval), description, expiresAt, address };
}
