import type { ApprovalView, GrantView, JsonValue, Remember, RevealedView } from '@countersign/contracts';
import { CliError, localError, refusedError, usageError } from '../cli-error.js';
import type { LedgerClient } from '../connection/ledger-client.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import { isJsonObject, readJsonInput } from '../json-input.js';
import { safeJson } from '../text/printable.js';
import { responseSentWords } from '../view/response-words.js';
import { isConfirmed } from './confirm.js';
import { isForMany } from './many-options.js';
import type { ManyOptions } from './many-options.js';
import { approvalCard } from '../view/approval-card.js';
import { argumentLines, changeLines } from '../view/argument-lines.js';
import { grantLines } from '../view/grant-lines.js';
import { wrapped } from '../view/line.js';
import { rememberOf } from './remember-options.js';
import type { RememberOptions } from './remember-options.js';

/** The comment or reason that a person gives with the decision. */
export interface Remarks {
  readonly reason?: string | undefined;
  readonly instruction?: string | undefined;
  /** The digest of the proposal that the person saw. The server rejects the response when it has changed. */
  readonly proposalDigest?: string | undefined;
  /** The same for the proposal with its instructions. */
  readonly shownDigest?: string | undefined;
  /** Of what the other calls propose that run together with this one. */
  readonly shownOthersDigest?: string | undefined;
  /** Binds the response to the current question, without a word about what the person saw. */
  readonly shownRevision?: number | undefined;
  /** Also creates a standing grant. */
  readonly remember?: Remember | undefined;
}

/** A decision; arguments and output as the JSON text that is sent. */
export type DecisionToSend =
  | { readonly type: 'approve' | 'deny' }
  | { readonly type: 'edit'; readonly argumentsJson: string }
  | { readonly type: 'answer'; readonly outputJson: string };

/** Records one person's response. Returns the approval after it. */
export async function sendResponse(
  client: LedgerClient,
  approvalId: string,
  decision: DecisionToSend,
  remarks: Remarks,
): Promise<ApprovalView & { readonly grant?: GrantView }> {
  const given = Object.entries(remarks).filter(([, value]) => value !== undefined && value !== '');
  const members = [
    `"decision":${decisionJson(decision)}`,
    ...given.map(([name, value]) => `"${name}":${safeJson(value)}`),
  ];
  const path = `/v1/approvals/${encodeURIComponent(approvalId)}/responses`;
  return client.post(path, { body: `{${members.join(',')}}` });
}

function decisionJson(decision: DecisionToSend): string {
  switch (decision.type) {
    case 'edit':
      return `{"type":"edit","arguments":${decision.argumentsJson}}`;
    case 'answer':
      return `{"type":"answer","output":${decision.outputJson}}`;
    case 'approve':
    case 'deny':
      return safeJson(decision);
  }
}

/** The options of the commands that respond. */
export interface RespondOptions {
  readonly reason?: string;
  readonly instruction?: string;
  readonly digest?: string;
}

function remarksOf({ reason, instruction, digest }: RespondOptions): Remarks {
  return { reason, instruction, shownDigest: digest };
}

async function respond(
  invocation: Invocation,
  approvalId: string,
  decision: DecisionToSend,
  remarks: Remarks,
): Promise<ExitCode> {
  const approval = await sendResponse(invocation.client, approvalId, decision, remarks).catch((error: unknown) => {
    throw withDigestRemedy(error, remarks);
  });
  invocation.printJson(approval);
  invocation.print(...wrapped(responseSentWords(decision.type, approval), invocation.columns, 'green'));
  if (approval.grant !== undefined) invocation.print(...grantLines(approval.grant, invocation.columns));
  return exitCodes.ok;
}

/** An approval has several digests: one of the arguments alone says nothing about an answer and the instructions. */
function withDigestRemedy(error: unknown, { shownDigest }: Remarks): unknown {
  const isOfArguments = error instanceof CliError && error.problem['actionDigest'] === shownDigest;
  return isOfArguments && error.problem.code === 'digest-mismatch'
    ? refusedError(error.problem, '--digest is the shownDigest of the approval, not the actionDigest of the call.')
    : error;
}

/** `countersign approve` and `countersign deny`. */
export async function approveOrDeny(
  invocation: Invocation,
  type: 'approve' | 'deny',
  approvalId: string,
  options: RespondOptions & ManyOptions & RememberOptions,
): Promise<ExitCode> {
  if (isForMany(options)) throw usageError('Name either an approval or a filter such as --run.');
  const remember = await rememberOf(options);
  const seen =
    type === 'approve' && isShown(invocation, options) ? await seenFirst(invocation, approvalId, options) : {};
  if (seen === undefined) {
    invocation.note('Nothing was sent.');
    return exitCodes.ok;
  }
  if (invocation.terminal.interrupted.aborted) return exitCodes.interrupted;
  return respond(invocation, approvalId, { type }, { ...remarksOf(options), ...seen, remember });
}

/** With --digest the caller names what they saw. With --json nothing is shown, and the response names nothing. */
function isShown({ json }: Invocation, { digest }: RespondOptions): boolean {
  return digest === undefined && !json;
}

/** Only a person at a terminal can answer a question. */
function isAsked({ terminal }: Invocation, { yes = false }: ManyOptions): boolean {
  return !yes && terminal.stdin.isTTY && terminal.stdout.isTTY;
}

/**
 * Shows an approval, and asks where a person can answer. Resolves to the digests of what it showed; undefined without a yes.
 * The attack: an approver edits the arguments between `countersign show` and `countersign approve` of another one.
 */
async function seenFirst(
  invocation: Invocation,
  approvalId: string,
  options: ManyOptions,
): Promise<Remarks | undefined> {
  const { client } = invocation;
  const approval = await client.get<ApprovalView>(`/v1/approvals/${encodeURIComponent(approvalId)}`);
  // The server says how it ended.
  if (approval.state !== 'pending') return {};
  printCard(invocation, approval);
  if (!isAsked(invocation, options)) return shownOf(approval);
  refuseOnlooker(approval);
  return (await isConfirmed(invocation, 'Approve this call?', nameIfHigh(approval))) ? shownOf(approval) : undefined;
}

/** To what a response is bound whose person saw the approval. */
export function shownOf({ proposal, shownDigest, shownOthersDigest }: ApprovalView): Remarks {
  return { proposalDigest: proposal.digest, shownDigest, shownOthersDigest };
}

/** A person who may not decide is not asked to. Whoever has answered may still propose something else. */
function refuseOnlooker({ mayDecide }: ApprovalView): void {
  if (mayDecide?.now !== false || mayDecide.why === 'already-voted') return;
  throw localError('refused', mayDecide.why, mayDecide.detail, 'Nothing was sent.');
}

/** What is typed in place of a yes where the risk is high: the name of the tool. */
function nameIfHigh({ risk, toolName }: ApprovalView): string | undefined {
  return risk === 'high' ? toolName : undefined;
}

function printCard({ print, columns, client }: Invocation, approval: ApprovalView): void {
  print(...approvalCard(approval, { columns, nowMs: client.serverNow() }));
}

/** `countersign answer`: gives a result instead of running the tool. */
export async function answer(
  invocation: Invocation,
  approvalId: string,
  options: RespondOptions & { readonly output?: string; readonly text?: string },
): Promise<ExitCode> {
  const { output, text } = options;
  if ((output === undefined) === (text === undefined))
    throw usageError('Give the result with either --output or --text.');
  const outputJson =
    text === undefined
      ? (await readJsonInput('--output', output ?? '', invocation.terminal)).text
      : JSON.stringify(text);
  return respond(invocation, approvalId, { type: 'answer', outputJson }, remarksOf(options));
}

/** `countersign edit`: approves with other arguments, which replace the original arguments as a whole. */
export async function edit(
  invocation: Invocation,
  approvalId: string,
  options: RespondOptions & { readonly arguments?: string },
): Promise<ExitCode> {
  const { client, terminal } = invocation;
  const approval = await client.get<ApprovalView>(`/v1/approvals/${encodeURIComponent(approvalId)}`);
  const edited = await editedArguments(invocation, approval, options.arguments);
  if (!isJsonObject(edited.value)) throw usageError('The arguments must be a JSON object.');
  const change = changeLines(approval.arguments, edited.value, invocation.columns);
  if (change.length === 0) {
    throw localError(
      'refused',
      'unchanged',
      'These are the arguments as they are: nothing was sent.',
      'To agree with them, use `countersign approve`.',
    );
  }
  // The lines of the change are a part of what runs, so the rest is above them.
  if (isShown(invocation, options)) printCard(invocation, approval);
  invocation.print({ text: '' }, { text: 'The edit', tone: 'bold' }, ...change);
  if (
    options.arguments === undefined &&
    !(await isConfirmed(invocation, 'Approve with these arguments?', nameIfHigh(approval)))
  ) {
    invocation.note('Nothing was sent.');
    return exitCodes.ok;
  }
  if (terminal.interrupted.aborted) return exitCodes.interrupted;
  const remarks = { ...remarksOf(options), ...boundTo(invocation, approval, options) };
  return respond(invocation, approvalId, { type: 'edit', argumentsJson: edited.text }, remarks);
}

/** With --json nothing was shown: the edit is bound to the approval that it read, and does not say that a person saw it. */
function boundTo({ json }: Invocation, approval: ApprovalView, { digest }: RespondOptions): Remarks {
  if (digest !== undefined) return { shownDigest: digest };
  const { shownRevision, shownOthersDigest } = approval;
  return json ? { shownRevision, shownOthersDigest } : shownOf(approval);
}

async function editedArguments(
  invocation: Invocation,
  approval: ApprovalView,
  given: string | undefined,
): Promise<{ readonly value: JsonValue; readonly text: string }> {
  const { terminal, json } = invocation;
  if (given !== undefined) return readJsonInput('--arguments', given, terminal);
  if (json || !terminal.stdin.isTTY || !terminal.stdout.isTTY) {
    throw usageError('Without a terminal the new arguments come with --arguments.');
  }
  refuseOnlooker(approval);
  const { editJson } = await import('../inbox/editor.js');
  return editJson(approval.arguments, terminal);
}

/** `countersign withdraw`: withdraws one's own response while the approval is pending. */
export async function withdraw(invocation: Invocation, approvalId: string): Promise<ExitCode> {
  const { client } = invocation;
  const path = `/v1/approvals/${encodeURIComponent(approvalId)}`;
  const approval = await client.delete<ApprovalView>(`${path}/responses/mine`);
  invocation.printJson(approval);
  invocation.print({ text: 'Your response is withdrawn.', tone: 'green' });
  return exitCodes.ok;
}

/** `countersign reveal`: shows the hidden values of an approval; the server records who looked first. */
export async function reveal(invocation: Invocation, approvalId: string): Promise<ExitCode> {
  const { client, columns } = invocation;
  const revealed = await client.post<RevealedView>(`/v1/approvals/${encodeURIComponent(approvalId)}/reveal`);
  invocation.printJson(revealed);
  invocation.print(...argumentLines(revealed.arguments, columns));
  if (revealed.output !== undefined)
    invocation.print(
      { text: '' },
      { text: 'The proposed answer', tone: 'bold' },
      ...argumentLines({ answer: revealed.output }, columns),
    );
  return exitCodes.ok;
}
