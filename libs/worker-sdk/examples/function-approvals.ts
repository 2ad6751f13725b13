// A chat whose messages ask for approval themselves: calls of the model become `function_approval_request` contents, and the user's contents responses.
import {
  type ApprovalView,
  createClient,
  gateTool,
  isRefusal,
  type Client,
  type CountersignError,
  type RunState,
  type StepOutcome,
  type ToolCallView,
  type Worker,
} from '@countersign/worker-sdk';
import {
  functionApprovalRequest,
  functionResult,
  isRecorded,
  isRecordedContent,
  isRefusedResponse,
  MappingError,
  proposedCallOf,
  responseToApproval,
  StaleResponseError,
} from '@countersign/worker-sdk/mappings';
import type {
  Answering,
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

/** An answer that was not recorded. Show why: its question is asked again, as it is now. */
export interface Refused {
  readonly response: FunctionApprovalResponseContent;
  /**
   * A `MappingError`: of another person, to an earlier question, or changed. `already-voted`: withdraw the recorded answer first.
   * `already-resolved`, `expired`: it came too late.
   */
  readonly error: CountersignError | MappingError;
}

/** A call that neither waits for this person nor has a result, and that the user's own client does not run. */
export interface Waiting {
  readonly callId: string;
  /**
   * Such as `approved`, while others of its step are asked about or a stop covers it, or `executing`: here, in another process, or in one
   * that has crashed.
   */
  readonly state: ToolCallView['state'];
}

/** The next contents of the chat, and the state to store until the user responds. */
export interface Turn {
  readonly contents: readonly (FunctionApprovalRequestContent | FunctionResultContent)[];
  readonly waiting: readonly Waiting[];
  /** The calls that the user's own client runs: give it tool and arguments, pass what it returns to `submitOutput`, and start the next turn. */
  readonly clientCalls: StepOutcome['clientCalls'];
  /** Which stop keeps an approved call from running, and why: show it. A later turn goes on. Null: none. */
  readonly stopDetail: string | null;
  readonly state: RunState;
  readonly refused: readonly Refused[];
}

/** The other calls of a step that runs together: a "yes" to one of them may release all. */
async function othersOf(user: Client, { callId, batch }: ApprovalView): Promise<readonly ToolCallView[]> {
  const others = batch?.mode === 'all-or-nothing' ? batch.callIds.filter((one) => one !== callId) : [];
  return Promise.all(others.map((one) => user.getToolCall(one)));
}

const open: ReadonlySet<string> = new Set(['allowed', 'approved', 'awaiting_approval', 'executing']);

/** Has all results of the step so far: leave out those that the messages have already. `isLast`: it is read no more. */
async function turnOf(worker: Worker, user: Client, outcome: StepOutcome, isLast = false): Promise<Turn> {
  const { results, pendingApprovals, clientCalls, stopDetail, state } = outcome;
  const { principal } = await user.getMe();
  // As the person sees them: with masks.
  const asked = await Promise.all(pendingApprovals.map(({ approvalId }) => user.getApproval(approvalId)));
  const pending = asked.filter((approval) => approval.state === 'pending');
  const requests = await Promise.all(
    pending.map(async (approval) => functionApprovalRequest(approval, principal, await othersOf(user, approval))),
  );
  const isTold = new Set([...results, ...pending, ...clientCalls].map(({ toolCallId }) => toolCallId));
  const silent = state.calls.filter(({ toolCallId }) => !isTold.has(toolCallId));
  const { calls } = silent.length === 0 ? { calls: [] } : await worker.client.getRun(state.runId);
  const waiting = silent.flatMap(({ toolCallId: callId }) => {
    const call = calls.find(({ toolCallId }) => toolCallId === callId);
    return call === undefined ? [] : [{ callId, state: call.state }];
  });
  // Another window has run or ended it since the outcome was read, and its result belongs into a turn.
  if (!isLast && waiting.some((one) => !open.has(one.state)))
    return turnOf(worker, user, await worker.wait(state, { timeoutMs: 0 }), true);
  const contents = [...results.map(functionResult), ...requests];
  return { contents, waiting, clientCalls, stopDetail, state, refused: [] };
}

/** How long a turn waits for calls that run. What still runs then is in `waiting`, and goes on. */
interface Limit {
  /** Default: 10 s. */
  readonly timeoutMs?: number;
}

const turnMs = 10_000;

/** Waits while `isUnderWay`, up to the limit, and not for the end of a stop. */
async function within(
  worker: Worker,
  { timeoutMs = turnMs }: Limit,
  begin: (limit: Required<Limit>) => Promise<StepOutcome>,
  isUnderWay: (outcome: StepOutcome) => boolean,
): Promise<StepOutcome> {
  const endsAt = Date.now() + timeoutMs;
  const left = (): Required<Limit> => ({ timeoutMs: Math.max(0, endsAt - Date.now()) });
  let outcome = await begin(left());
  while (isUnderWay(outcome) && outcome.stopDetail === null && Date.now() < endsAt) {
    outcome = await worker.wait(outcome.state, left());
  }
  return outcome;
}

const isRunning = ({ stopReason }: StepOutcome): boolean => stopReason === 'awaiting_execution';

/** The calls of one message of the model are one step. */
export async function askAbout(
  worker: Worker,
  user: Client,
  runId: string,
  calls: readonly FunctionCallContent[],
  limit: Limit = {},
): Promise<Turn> {
  const step = { runId, toolCalls: calls.map(proposedCallOf) };
  return turnOf(worker, user, await within(worker, limit, (left) => worker.step(step, left), isRunning));
}

/** A person who is signed in at your application. `groups` are theirs there: a rule may ask only some groups. */
export interface Person {
  readonly id: string;
  readonly groups?: readonly string[];
  readonly name?: string;
  readonly assurance?: 'low' | 'medium';
}

/** What `createFrontEnd(server)` of `@countersign/api-client` returns. */
interface FrontEnd {
  readonly fetchAs: (person: Person) => typeof fetch;
}

/** The client of a person. The token of `server` has role front-end. */
export function clientOf(
  frontEnd: FrontEnd,
  person: Person,
  server: { readonly url: string; readonly token: string },
): Client {
  return createClient({ ...server, fetch: frontEnd.fetchAs(person) });
}

/** A person's session at your application. */
export interface Session {
  /** The client of the person. */
  readonly user: Client;
  /** The id of this sign-in: each has another one, also that with a second factor. */
  readonly signIn: string;
}

/** The answer, or that its message is a repeat: it is recorded, whatever is asked since. */
function mappedOrRecorded(
  response: FunctionApprovalResponseContent,
  asked: ApprovalView,
  answering: Answering,
  others: readonly ToolCallView[],
): MappedResponse | 'recorded' {
  try {
    return responseToApproval(response, asked, answering, others);
  } catch (error) {
    if (isRecordedContent(response, asked, answering)) return 'recorded';
    throw error;
  }
}

/** Resolves to whether the answer decided. @throws CountersignError or MappingError when it was not recorded. */
async function answer(
  { user, signIn }: Session,
  approvalId: string,
  response: FunctionApprovalResponseContent,
  { sentBy, sentIn }: UserMessage,
): Promise<boolean> {
  const [{ principal: person }, asked] = await Promise.all([user.getMe(), user.getApproval(approvalId)]);
  const mapped = mappedOrRecorded(response, asked, { person, signIn, sentBy, sentIn }, await othersOf(user, asked));
  if (mapped === 'recorded') return false;
  try {
    const { state } = await user.respond(approvalId, mapped.body, { idempotencyKey: mapped.idempotencyKey });
    return state !== 'pending';
  } catch (error) {
    if (!isRefusal(error, 'already-voted', 'already-resolved')) throw error;
    // The same answer once more, as when its turn threw.
    if (!isRecorded(await user.getApproval(approvalId), person, mapped)) throw error;
    return false;
  }
}

/** A message of the chat, as your application stores it. */
export interface UserMessage {
  /** The principal of the session that sent it. Record it when the message comes in, and take it from nothing that the client sent. */
  readonly sentBy: string;
  /** The sign-in of that session, recorded like `sentBy`. */
  readonly sentIn: string;
  readonly contents: readonly FunctionApprovalResponseContent[];
}

type Content = FunctionApprovalResponseContent;
type Pending = () => Promise<StepOutcome['pendingApprovals']>;
type RefusedAbout = Refused & { readonly approvalId: string };

/**
 * The approval that a content answers. A client may name it by the id of its call. Attack: a model gives a call the id of an approval,
 * and the "no" to that approval is taken for one to the call.
 */
async function approvalOf(content: Partial<Content> | null, pending: Pending): Promise<string> {
  const id = content?.id;
  if (typeof id !== 'string') throw new MappingError('the message has a content that is no answer');
  const call = content?.functionCall as Partial<FunctionCallContent> | null | undefined;
  if (call?.callId !== id) return id;
  return (await pending()).find(({ toolCallId }) => toolCallId === id)?.approvalId ?? id;
}

/** Whether it is a "no" to a call that another "no" has ended, such as the first or the last "no" of one prompt. */
async function isMoot(user: Client, { response, error, approvalId }: RefusedAbout): Promise<boolean> {
  const isLate = error instanceof StaleResponseError || isRefusal(error, 'already-resolved');
  if (!isLate || response.approved) return false;
  return (await user.getToolCall((await user.getApproval(approvalId)).callId)).state === 'cancelled';
}

/** Sends each answer, a "no" before a "yes". One that is refused stops no other. */
async function answerAll(
  session: Session,
  message: UserMessage,
  pending: Pending,
): Promise<{ readonly decided: ReadonlySet<string>; readonly refused: readonly Refused[] }> {
  const decided = new Set<string>();
  const refused: RefusedAbout[] = [];
  const failures: unknown[] = [];
  const isYes = (content: Partial<Content> | null): boolean => content?.approved === true;
  const { contents } = message;
  for (const response of [...contents.filter((one) => !isYes(one)), ...contents.filter(isYes)]) {
    let approvalId = '';
    try {
      approvalId = await approvalOf(response, pending);
      if (await answer(session, approvalId, response, message)) decided.add(approvalId);
    } catch (error) {
      if (isRefusedResponse(error)) refused.push({ response, error, approvalId });
      else failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  const areMoot = await Promise.all(refused.map((one) => isMoot(session.user, one)));
  return { decided, refused: refused.filter((_, index) => areMoot[index] !== true) };
}

/**
 * The turn that a message starts. Pass each message once, in its own turn, whatever others write meanwhile, and again until that turn
 * did not throw. A "yes" counts only in the sign-in in which it was given.
 * @param session of the person who is signed in, and who sent the message.
 * @throws what kept an answer from the ledger, after all others were sent. Then pass the same message again.
 */
export async function answerTo(
  worker: Worker,
  session: Session,
  state: RunState,
  message: UserMessage,
  limit: Limit = {},
): Promise<Turn> {
  // The answers go first: what keeps the worker from its calls keeps no "no" from the ledger.
  const pending: Pending = async () => (await worker.wait(state, { timeoutMs: 0 })).pendingApprovals;
  const { decided, refused } = await answerAll(session, message, pending);
  // A cluster may show a decision a moment later, and another process may run the call. The others wait for the next message.
  const isUnderWay = (outcome: StepOutcome): boolean =>
    isRunning(outcome) || outcome.pendingApprovals.some(({ approvalId }) => decided.has(approvalId));
  const outcome = await within(worker, limit, (left) => worker.resume(state, left), isUnderWay);
  return { ...(await turnOf(worker, session.user, outcome)), refused };
}
