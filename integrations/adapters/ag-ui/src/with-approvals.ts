import { EventType, type AGUIEvent, type Interrupt, type RunAgentInput, type RunFinishedEvent } from '@ag-ui/core';
import {
  approvalUrl,
  askedCall,
  isRefusal,
  offeredDecisions,
  questionText,
  type ApprovalView,
  type ToolCallView,
  type Worker,
} from '@countersign/worker-sdk';

/** The connection to Countersign. */
export interface ApprovalsOptions {
  /** It requests the calls of the agent. */
  readonly worker: Pick<Worker, 'pending' | 'cancel' | 'client'>;
  /**
   * The run of the agent's calls in the ledger. Default: the AG-UI thread. Its id comes from the client, so a server with
   * several users puts the user in: `${encodeURIComponent(user)}/${threadId}`.
   */
  readonly run?: string | undefined;
  /** Where people open the inbox. Each interrupt has the address of its approval then. */
  readonly inboxUrl?: string | undefined;
}

/**
 * The events of one AG-UI run. While approvals of the thread are pending, the run ends with one interrupt for each of them,
 * and for each approved call that has not run.
 * A resume is no decision: it lets the agent look again, and the agent asks the ledger. An input that leaves a pending
 * approval without an answer does not reach the agent: the run ends with the interrupts again. An answer `cancelled`
 * cancels the call.
 *
 * @example
 * for await (const event of withApprovals({ worker }, input, () => runAgent(input))) {
 *   response.write(`data: ${JSON.stringify(event)}\n\n`);
 * }
 */
export async function* withApprovals(
  { worker, inboxUrl, run: ledgerRun }: ApprovalsOptions,
  { threadId, runId, resume = [] }: Pick<RunAgentInput, 'threadId' | 'runId' | 'resume'>,
  runAgent: () => AsyncIterable<AGUIEvent>,
): AsyncGenerator<AGUIEvent> {
  const answers = new Map(resume.map(({ interruptId, status }) => [interruptId, status]));
  const run = ledgerRun ?? threadId;
  const open = await worker.pending(run);
  const finished = (pending: readonly ApprovalView[], own: readonly Interrupt[] = []): RunFinishedEvent => ({
    type: EventType.RUN_FINISHED,
    threadId,
    runId,
    outcome: {
      type: 'interrupt',
      interrupts: [...own, ...pending.map((approval) => interruptOf(approval, inboxUrl))],
    },
  });
  if (open.some(({ approvalId }) => !answers.has(approvalId))) {
    yield { type: EventType.RUN_STARTED, threadId, runId };
    yield finished(open);
    return;
  }
  const left = resume.filter(({ status }) => status === 'cancelled').map(({ interruptId }) => interruptId);
  if (left.length > 0) await cancelLeft(worker, run, left);
  for await (const event of runAgent()) {
    if (event.type !== EventType.RUN_FINISHED) yield event;
    else {
      const waiting = (await openCalls(worker, run)).flatMap(({ approval }) => approval ?? []);
      yield waiting.length === 0 ? event : finished(waiting, ownInterrupts(event));
    }
  }
}

/** The calls that wait for people, and the approved ones that have not run: people may decide while the agent still runs. */
async function openCalls({ client }: ApprovalsOptions['worker'], runId: string): Promise<readonly ToolCallView[]> {
  const open: ToolCallView[] = [];
  const state = ['awaiting_approval', 'approved'] as const;
  for await (const call of client.eachToolCall({ runId, state, order: 'oldest' })) open.push(call);
  return open;
}

/** The agent may ask something itself. */
function ownInterrupts({ outcome }: RunFinishedEvent): readonly Interrupt[] {
  return outcome?.type === 'interrupt' ? outcome.interrupts : [];
}

/** Also cancels what people approved meanwhile, unless it runs or has run: then the agent hears how it ended. */
async function cancelLeft(worker: ApprovalsOptions['worker'], runId: string, left: readonly string[]): Promise<void> {
  // Read before the first is cancelled, which would change the next page.
  for (const { callId, approval } of await openCalls(worker, runId)) {
    if (approval === null || !left.includes(approval.approvalId)) continue;
    try {
      await worker.cancel(callId, 'The user left the question.');
    } catch (error) {
      if (!isRefusal(error, 'already-claimed', 'already-settled')) throw error;
    }
  }
}

function interruptOf(approval: ApprovalView, inboxUrl: string | undefined): Interrupt {
  const { approvalId, toolCallId } = approval;
  const asked = askedCall(approval);
  const allowedDecisions = offeredDecisions(approval);
  // The deadline is that of the decision. A client refuses to answer an interrupt after it.
  const expiresAt = approval.state === 'pending' ? approval.expiresAt : null;
  const address = inboxUrl === undefined ? {} : { address: approvalUrl(inboxUrl, approvalId) };
  return {
    id: approvalId,
    reason: 'tool_call',
    message: questionText({ ...approval, ...asked }),
    toolCallId,
    ...(expiresAt === null ? {} : { expiresAt }),
    metadata: { countersign: { approvalId, ...asked, allowedDecisions, ...address } },
  };
}
