// A chat whose messages ask for approval themselves: calls of the model become `function_approval_request` contents, and the user's contents responses.
import {
  createClient,
  gateTool,
  isRefusal,
  type Client,
  type CountersignError,
  type RunState,
  type StepOutcome,
  type Worker,
} from '@countersign/worker-sdk';
import {
  functionApprovalRequest,
  functionResult,
  proposedCallOf,
  responseToApproval,
  StaleResponseError,
} from '@countersign/worker-sdk/mappings';
import type {
  FunctionApprovalRequestContent,
  FunctionApprovalResponseContent,
  FunctionCallContent,
  FunctionResultContent,
  MappedResponse,
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

/** An answer that was not recorded, such as one without the reason that the rule requires. Show why: the question is asked again. */
export interface Refused {
  readonly id: string;
  readonly error: CountersignError;
}

/** The next contents of the chat, and the state to store until the user responds. */
export interface Turn {
  readonly contents: readonly (FunctionApprovalRequestContent | FunctionResultContent)[];
  readonly state: RunState;
  readonly refused: readonly Refused[];
}

/** Has all results of the step so far: leave out those that the messages have already. */
function turnOf({ results, pendingApprovals, state }: StepOutcome): Turn {
  const requests = pendingApprovals.map((approval) => functionApprovalRequest(approval));
  return { contents: [...results.map(functionResult), ...requests], state, refused: [] };
}

/** The calls of one message of the model are one step. */
export async function askAbout(worker: Worker, runId: string, calls: readonly FunctionCallContent[]): Promise<Turn> {
  return turnOf(await worker.step({ runId, toolCalls: calls.map(proposedCallOf) }));
}

/** A person who is signed in at your application. `groups` are theirs there: a rule may ask only some groups. */
export interface Person {
  readonly id: string;
  readonly groups?: readonly string[];
  readonly name?: string;
  readonly assurance?: 'low' | 'medium' | 'high';
}

/** The client of a person. `token` has role front-end. */
export function clientOf(person: Person, { url, token }: { readonly url: string; readonly token: string }): Client {
  const { id, groups = [], name, assurance } = person;
  const named: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set('countersign-person', encodeURIComponent(id));
    headers.set('countersign-person-groups', groups.map(encodeURIComponent).join(', '));
    if (name !== undefined) headers.set('countersign-person-name', encodeURIComponent(name));
    if (assurance !== undefined) headers.set('countersign-person-assurance', assurance);
    return fetch(input, { ...init, headers });
  };
  return createClient({ url, token, fetch: named });
}

/** Decided meanwhile, answered before, withdrawn since, or another question than the person saw: the turn says what holds now. */
const harmless = ['already-resolved', 'already-voted', 'expired', 'digest-mismatch', 'idempotency-key-reused'];

/** Whether the answer decided, or why it was not recorded; undefined: nothing to tell. */
type Answered = 'decided' | CountersignError | undefined;

async function send(user: Client, { approvalId, body, idempotencyKey }: MappedResponse): Promise<Answered> {
  try {
    const { state } = await user.respond(approvalId, body, { idempotencyKey });
    return state === 'pending' ? undefined : 'decided';
  } catch (error) {
    if (isRefusal(error, ...harmless)) return undefined;
    // It concerns this answer alone: the others of the message count all the same.
    if (isRefusal(error, 'reason-required', 'not-an-approver', 'own-request', 'decision-not-allowed')) return error;
    throw error;
  }
}

/** The responses to what is pending: one that was decided before, or that is about an older question, is left out. */
function mappedResponses(
  responses: readonly FunctionApprovalResponseContent[],
  pendingApprovals: StepOutcome['pendingApprovals'],
): readonly MappedResponse[] {
  return responses.flatMap((response) => {
    const asked = pendingApprovals.find(({ approvalId }) => approvalId === response.id);
    if (asked === undefined) return [];
    try {
      return [responseToApproval(response, asked)];
    } catch (error) {
      if (error instanceof StaleResponseError) return [];
      throw error;
    }
  });
}

/**
 * @param user the client of the person who is signed in.
 * @throws MappingError before any of the responses is sent.
 */
export async function answerTo(
  worker: Worker,
  user: Client,
  state: RunState,
  responses: readonly FunctionApprovalResponseContent[],
): Promise<Turn> {
  const { pendingApprovals } = await worker.wait(state, { timeoutMs: 0 });
  const decided = new Set<string>();
  const refused: Refused[] = [];
  for (const mapped of mappedResponses(responses, pendingApprovals)) {
    const answered = await send(user, mapped);
    if (answered === 'decided') decided.add(mapped.approvalId);
    else if (answered !== undefined) refused.push({ id: mapped.approvalId, error: answered });
  }
  let outcome = await worker.resume(state);
  // A cluster may show a decision a moment later, and another process may run the call. The others wait for the next message.
  const isUnderWay = ({ stopReason, pendingApprovals: pending }: StepOutcome): boolean =>
    stopReason === 'awaiting_execution' || pending.some(({ approvalId }) => decided.has(approvalId));
  while (isUnderWay(outcome)) outcome = await worker.wait(outcome.state);
  return { ...turnOf(outcome), refused };
}
