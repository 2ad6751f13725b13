// A chat whose messages ask for approval themselves: calls of the model become `function_approval_request` contents, and the user's contents responses.
import {
  createClient,
  gateTool,
  isRefusal,
  type Client,
  type RunState,
  type StepOutcome,
  type Worker,
} from '@countersign/worker-sdk';
import {
  functionApprovalRequest,
  functionResult,
  proposedCallOf,
  responseToApproval,
} from '@countersign/worker-sdk/mappings';
import type {
  FunctionApprovalRequestContent,
  FunctionApprovalResponseContent,
  FunctionCallContent,
  FunctionResultContent,
} from '@countersign/worker-sdk/mappings';
import { z } from 'zod';

const asksAboutStep = new Set(['drop_table']);

export const dropTable = gateTool({
  name: 'drop_table',
  description: 'Deletes a table with its rows',
  inputSchema: z.strictObject({ table: z.string() }),
  needsApproval: true,
  execute: ({ table }) => ({ dropped: table }),
});

/** Needs no approval by itself. In a step with `drop_table` people are asked about it as well, and decide about it alone. */
export const countRows = gateTool({
  name: 'count_rows',
  inputSchema: z.strictObject({ table: z.string() }),
  needsApproval: (_, { batch }) => batch.some(({ toolName }) => asksAboutStep.has(toolName)),
  execute: ({ table }) => ({ table, rows: 3 }),
});

/** The next contents of the chat, and the state to store until the user responds. */
export interface Turn {
  readonly contents: readonly (FunctionApprovalRequestContent | FunctionResultContent)[];
  readonly state: RunState;
}

/** Has all results of the step so far: leave out those that the messages have already. */
function turnOf({ results, pendingApprovals, state }: StepOutcome): Turn {
  return { contents: [...results.map(functionResult), ...pendingApprovals.map(functionApprovalRequest)], state };
}

/** The calls of one message of the model are one step. */
export async function askAbout(worker: Worker, runId: string, calls: readonly FunctionCallContent[]): Promise<Turn> {
  return turnOf(await worker.step({ runId, toolCalls: calls.map(proposedCallOf) }));
}

/** The client of a person who is signed in at your application. `token` has role front-end. */
export function clientOf(person: string, { url, token }: { readonly url: string; readonly token: string }): Client {
  const named: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set('countersign-person', encodeURIComponent(person));
    return fetch(input, { ...init, headers });
  };
  return createClient({ url, token, fetch: named });
}

/** @param user the client of the person who is signed in. */
export async function answerTo(
  worker: Worker,
  user: Client,
  state: RunState,
  responses: readonly FunctionApprovalResponseContent[],
): Promise<Turn> {
  const { pendingApprovals } = await worker.wait(state, { timeoutMs: 0 });
  const decided = new Set<string>();
  for (const response of responses) {
    const asked = pendingApprovals.find(({ approvalId }) => approvalId === response.id);
    // It was decided before, such as by a response in an older message.
    if (asked === undefined) continue;
    const { approvalId, body } = responseToApproval(response, asked);
    try {
      const answered = await user.respond(approvalId, body);
      if (answered.state !== 'pending') decided.add(approvalId);
    } catch (error) {
      // Decided meanwhile, or another question than the person saw: the contents of the turn say what holds now.
      if (!isRefusal(error, 'already-resolved', 'already-voted', 'expired', 'digest-mismatch')) throw error;
    }
  }
  let outcome = await worker.resume(state);
  // A cluster may show a decision a moment later, and another process may run the call. The others wait for the next message.
  const isUnderWay = ({ stopReason, pendingApprovals: pending }: StepOutcome): boolean =>
    stopReason === 'awaiting_execution' || pending.some(({ approvalId }) => decided.has(approvalId));
  while (isUnderWay(outcome)) outcome = await worker.wait(outcome.state);
  return turnOf(outcome);
}
