import type { ApprovalView } from '@countersign/contracts';
import {
  chainWords,
  doneWords,
  denialWords,
  labelWords,
  nameWords,
  endedProposalWords,
  printable,
  requesterWords,
  writtenMasks,
} from '@countersign/text';
import type { Problem } from '../cli-error.js';
import { localError, usageError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import { cut, widthOf } from '../text/width.js';
import { agreedLines } from '../view/approval-card.js';
import { compactJson } from '../view/approval-summary.js';
import type { Line } from '../view/line.js';
import { wrapped } from '../view/line.js';
import { problemWords } from '../view/problem-words.js';
import { approvalPages } from './list.js';
import { isForMany } from './many-options.js';
import type { ManyOptions } from './many-options.js';
import { isConfirmed } from './confirm.js';

interface Result {
  readonly approvalId: string;
  readonly status: string;
  readonly problem?: Problem;
  readonly approval?: ApprovalView;
}

/** The limit of one bulk request, and more than a person looks at. */
const manyMax = 256;

/**
 * `countersign approve|deny --run …`: one response to every pending approval that passes the filters. It shows all of
 * them with what the rules say before it asks, and then the result of each.
 */
export async function respondToMany(
  invocation: Invocation,
  type: 'approve' | 'deny',
  options: ManyOptions,
): Promise<ExitCode> {
  if (options.remember !== undefined) {
    throw usageError('An answer to many approvals never creates a grant. Use --remember with one approval.');
  }
  const isAsking = mustAsk(invocation, options);
  const approvals = await approvalsOf(invocation, options);
  if (approvals.length === 0) {
    invocation.print({ text: 'Nothing that is pending matches.' });
    return exitCodes.ok;
  }
  const preview = await send(invocation, type, approvals, { ...options, dryRun: true });
  const possible = approvals.filter((_, index) => preview[index]?.status === 'possible');
  invocation.print(...approvals.flatMap((approval, index) => rowLines(invocation, type, approval, preview[index])));
  const question = `${type === 'approve' ? 'Approve' : 'Deny'} ${String(possible.length)} of ${String(approvals.length)}?`;
  if (possible.length > 0 && isAsking && !(await isConfirmed(invocation, question, typedFor(type, possible)))) {
    invocation.note('Nothing was sent.');
    return exitCodes.ok;
  }
  if (invocation.terminal.interrupted.aborted) return exitCodes.interrupted;
  const sent = possible.length === 0 ? [] : await send(invocation, type, possible, options);
  const resultOf = ({ approvalId }: ApprovalView, index: number): Result | undefined =>
    sent.find((result) => result.approvalId === approvalId) ?? preview[index];
  return tell(invocation, type, approvals, approvals.map(resultOf));
}

/** What is typed in place of a yes where one is of high risk: how many are approved. */
function typedFor(type: 'approve' | 'deny', possible: readonly ApprovalView[]): string | undefined {
  return type === 'approve' && possible.some(({ risk }) => risk === 'high') ? String(possible.length) : undefined;
}

/** Returns whether to ask for confirmation. @throws CliError without a filter, and without a terminal to ask at. */
function mustAsk({ json, terminal }: Invocation, options: ManyOptions): boolean {
  if (!isForMany(options)) throw usageError('Name an approval, or a filter such as --run.');
  if (options.digest !== undefined) throw usageError('--digest is for one approval; many are bound to what is shown.');
  if (options.yes === true) return false;
  if (json || !terminal.stdin.isTTY || !terminal.stdout.isTTY) {
    throw usageError('Without a terminal an answer to many needs --yes.', 'Look first: countersign list');
  }
  return true;
}

async function approvalsOf({ client }: Invocation, options: ManyOptions): Promise<readonly ApprovalView[]> {
  const { run, agent, batch } = options;
  const filters = { ...(run !== undefined && { run }), ...(agent !== undefined && { agent }) };
  const isOfTool = await toolFilter(options);
  const found: ApprovalView[] = [];
  for await (const page of approvalPages(client, filters)) {
    const isOfBatch = (approval: ApprovalView): boolean => batch === undefined || approval.batch?.batchId === batch;
    found.push(...page.approvals.filter((approval) => isOfBatch(approval) && isOfTool(approval.toolName)));
    if (found.length > manyMax) {
      const detail = `More than ${String(manyMax)} approvals match.`;
      throw localError('refused', 'too-many', detail, 'Add a filter: --run, --batch, --tool or --agent.');
    }
  }
  if (batch !== undefined) refuseForeignSteps(found);
  return found;
}

/** Attack: an agent reuses the batch id of another run, so that an answer to that batch also answers its own calls. */
function refuseForeignSteps(approvals: readonly ApprovalView[]): void {
  const steps = new Set(approvals.map(({ runId, requestedBy }) => JSON.stringify([runId, requestedBy])));
  if (steps.size < 2) return;
  const detail = `${String(steps.size)} runs or requesters have a batch of this name.`;
  throw localError('refused', 'ambiguous-batch', detail, 'Add --run and --agent.');
}

/** The contracts are loaded only for a glob: a command that asks the server starts faster without them. */
async function toolFilter({ tool }: ManyOptions): Promise<(toolName: string) => boolean> {
  if (tool === undefined) return () => true;
  const { matchesGlob } = await import('@countersign/contracts');
  return (toolName) => matchesGlob(tool, toolName);
}

async function send(
  invocation: Invocation,
  type: 'approve' | 'deny',
  approvals: readonly ApprovalView[],
  { reason, instruction, dryRun }: ManyOptions & { readonly dryRun?: boolean },
): Promise<readonly Result[]> {
  const shown = approvals.filter((approval) => isShown(invocation, type, approval));
  const together = approvals.filter(({ shownOthersDigest }) => shownOthersDigest !== undefined);
  const body = {
    approvalIds: approvals.map(({ approvalId }) => approvalId),
    ...(shown.length > 0 && {
      proposalDigests: Object.fromEntries(shown.map(({ approvalId, proposal }) => [approvalId, proposal.digest])),
      shownDigests: Object.fromEntries(shown.map(({ approvalId, shownDigest }) => [approvalId, shownDigest])),
    }),
    // What was read is the question that is answered, also with --json. A denial only restricts, so it is bound to no revision.
    ...(type === 'approve' && {
      shownRevisions: Object.fromEntries(approvals.map(({ approvalId, shownRevision }) => [approvalId, shownRevision])),
    }),
    ...(type === 'approve' &&
      together.length > 0 && {
        shownOthersDigests: Object.fromEntries(together.map((one) => [one.approvalId, one.shownOthersDigest])),
      }),
    decision: { type },
    ...(reason !== undefined && { reason }),
    ...(instruction !== undefined && { instruction }),
    ...(dryRun === true && { dryRun }),
  };
  const { results } = await invocation.client.post<{ results: readonly Result[] }>('/v1/approvals/responses', { body });
  return results;
}

/** With --json nothing is shown; a row of a denial may be cut. A response to what was not shown does not say that it was. */
function isShown({ json, columns }: Invocation, type: 'approve' | 'deny', approval: ApprovalView): boolean {
  return !json && (type === 'approve' || fitsOneLine(approval, columns));
}

/** Whose arguments these are where they are not the agent's, and what people proposed before. */
function editLines({ proposal, requestedBy, endedProposals }: ApprovalView, columns: number): Line[] {
  const { number, kind, proposedBy } = proposal;
  const isEdit = number > 1 && kind === 'run' && proposedBy !== requestedBy;
  const ended = endedProposalWords(endedProposals);
  return [
    ...(isEdit ? wrapped(`  Edited by ${nameWords(proposedBy)}`, columns, 'yellow', 2) : []),
    ...(ended === '' ? [] : wrapped(`  Not approved before: ${ended}`, columns, 'yellow', 2)),
  ];
}

/** A row is one line, unless it would cut what is to be approved: then all of it is shown. */
function rowLines(
  { columns, client }: Invocation,
  type: 'approve' | 'deny',
  approval: ApprovalView,
  result: Result | undefined,
): Line[] {
  const facts = [
    ...(approval.risk === null ? [] : [`risk ${approval.risk}`]),
    `asked by ${requesterWords(approval, 80)}`,
    `agent ${nameWords(approval.agentId, 80)}`,
    `run ${nameWords(approval.runId, 80)}`,
  ];
  const isShownBelow = type === 'approve' && result?.status === 'possible' && !fitsOneLine(approval, columns);
  const why = result?.problem === undefined ? '' : problemWords(result.problem, client.serverNow());
  return [
    ...(isShownBelow ? wrapped(nameWords(approval.toolName), columns, 'bold') : [callLine(approval, columns)]),
    { text: cut(`  ${facts.join(' · ')}`, columns), tone: 'dim' },
    ...placeLines(approval, columns),
    ...editLines(approval, columns),
    ...(isShownBelow ? agreedLines(approval, columns) : []),
    ...(why === '' ? [] : wrapped(`  left out: ${why}`, columns, 'yellow', 2)),
  ];
}

function callLine({ toolName, arguments: args }: ApprovalView, columns: number): Line {
  return { text: cut(`${nameWords(toolName)} ${compactJson(args, columns)}`, columns), tone: 'bold' };
}

/** The labels have the folder and the server of a call: the same command in another folder is another call. */
function placeLines({ labels, chain, requestedBy, requirement }: ApprovalView, columns: number): Line[] {
  const [inside, denial] = [chainWords(chain, requestedBy), denialWords(requirement)];
  const facts = Object.entries({ labels: labelWords(labels), inside, 'a denial': denial });
  return facts.flatMap(([name, words]) => (words === '' ? [] : wrapped(`  ${name}: ${words}`, columns, undefined, 4)));
}

/** Returns whether one line shows all that a person agrees to. It says of no value whether it is hidden, or the agent's text. */
function fitsOneLine(approval: ApprovalView, columns: number): boolean {
  const { toolName, arguments: args, hiddenValues, schemaNotes = [], proposal, instructions } = approval;
  if (proposal.kind !== 'run' || instructions.length > 0 || schemaNotes.length > 0) return false;
  if (hiddenValues.length > 0 || writtenMasks(args, hiddenValues).size > 0) return false;
  return widthOf(`${nameWords(toolName)} ${compactJson(args, Number.POSITIVE_INFINITY)}`) <= columns;
}

function tell(
  invocation: Invocation,
  type: 'approve' | 'deny',
  approvals: readonly ApprovalView[],
  results: readonly (Result | undefined)[],
): ExitCode {
  for (const result of results) invocation.printJson(result);
  const isAll = results.every((result) => result?.status === 'done');
  const done = results.filter((result) => result?.status === 'done').length;
  const open = results.filter((result) => result?.status === 'done' && result.approval?.state === 'pending').length;
  const needed = open === 0 ? '' : ` More people must answer: ${String(open)}.`;
  const lost = approvals.flatMap((approval, index): Line[] => {
    const problem = results[index]?.problem;
    if (problem === undefined) return [];
    const words = `${printable(approval.approvalId)} (${nameWords(approval.toolName)}): ${problemWords(problem, invocation.client.serverNow())}`;
    return wrapped(words, invocation.columns, 'red', 2);
  });
  invocation.print({ text: '' }, ...lost, {
    text: `${doneWords[type]}: ${String(done)} of ${String(approvals.length)}.${needed}`,
    tone: isAll ? 'green' : 'red',
  });
  return isAll ? exitCodes.ok : exitCodes.refused;
}
