import type { ApprovalView } from '@countersign/contracts';
import { nameWords, stepOf, together } from '@countersign/text';
import type { LedgerClient } from '../connection/ledger-client.js';
import { pagesOf } from '../connection/pages.js';
import type { Page } from '../connection/pages.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import { cut } from '../text/width.js';
import { approvalSummary } from '../view/approval-summary.js';
import type { Line } from '../view/line.js';

/** Selects approvals. An absent member does not filter. */
export interface ApprovalFilters {
  readonly state?: string;
  readonly tool?: string;
  readonly run?: string;
  readonly agent?: string;
  readonly group?: string;
  /** Those that the caller may decide now. */
  readonly mine?: boolean;
  readonly respondedBy?: string;
  readonly rule?: string;
  readonly risk?: string;
  readonly label?: readonly string[];
  readonly since?: string;
  readonly until?: string;
  readonly search?: string;
  readonly sort?: string;
}

interface ApprovalsPage extends Page {
  readonly approvals: readonly ApprovalView[];
  /** The position of the log that the page shows: events after it are news. */
  readonly position: number;
}

/** The pages of approvals that pass the filters, in their order; without one, oldest first. */
export async function* approvalPages(
  client: LedgerClient,
  filters: ApprovalFilters,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<ApprovalsPage, void> {
  const { state = 'pending', tool: toolName, run: runId, agent: agentId, group, rule: ruleId, search: q } = filters;
  const { respondedBy, risk, since, until, sort } = filters;
  const query = {
    ...{ state, toolName, runId, agentId, group, ruleId, q, respondedBy, risk, since, until, sort },
    mine: filters.mine === true ? 'true' : undefined,
    ...labelParameters(filters.label ?? []),
  };
  yield* pagesOf<ApprovalsPage>(client, '/v1/approvals', query, ({ approvals }) => approvals.length, limit);
}

/** `team=ops` as the parameter `label.team`. */
function labelParameters(labels: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    labels.map((label) => {
      const [name = '', ...value] = label.split('=');
      return [`label.${name}`, value.join('=')];
    }),
  );
}

/** What the list prints of one approval, and which others stand with it. */
interface Entry {
  readonly step: string;
  readonly heading: string;
  readonly lines: readonly Line[];
}

/**
 * `countersign list`: prints the approvals once. What is pending stands in the order of the inbox, the calls of a step together;
 * any other order has each alone. With `--json` it prints one JSON document per approval, in the server's order.
 */
export async function list(
  invocation: Invocation,
  options: ApprovalFilters & { readonly limit?: number },
): Promise<ExitCode> {
  const { client, columns } = invocation;
  const { state = 'pending', sort } = options;
  const isInboxOrder = state === 'pending' && sort === undefined;
  let entries: Entry[] = [];
  let shown = 0;
  const print = (): void => {
    for (const lines of blocksOf(entries, columns)) {
      invocation.print(...(shown > 0 ? [{ text: '' }] : []), ...lines);
      shown += 1;
    }
    entries = [];
  };
  let hasMore = false;
  const filters = { ...options, ...(isInboxOrder && { sort: 'risk' }) };
  for await (const page of approvalPages(client, filters, options.limit)) {
    for (const approval of page.approvals) {
      invocation.printJson(approval);
      entries.push({
        step: isInboxOrder ? stepOf(approval) : approval.approvalId,
        heading: stepWords(approval),
        lines: approvalSummary(approval, { columns, nowMs: client.serverNow() }),
      });
    }
    if (!isInboxOrder) print();
    hasMore = page.nextCursor !== null;
  }
  print();
  if (shown === 0) invocation.print({ text: `Nothing is ${state}.` });
  if (hasMore) invocation.note('There are more: raise --limit, or omit it for all.');
  return exitCodes.ok;
}

/** The lines of each approval, those of one step together, under a heading. */
function blocksOf(entries: readonly Entry[], columns: number): readonly (readonly Line[])[] {
  const steps = [...together(entries, ({ step }) => step).values()];
  return steps.flatMap((step) =>
    step.map(({ heading, lines }, index): readonly Line[] => {
      const text = cut(`${String(step.length)} ${heading}`, columns);
      return step.length > 1 && index === 0 ? [{ text, tone: 'dim' }, ...lines] : lines;
    }),
  );
}

function stepWords({ runId, batch }: ApprovalView): string {
  return `of one step of run ${nameWords(runId)}${batch?.mode === 'all-or-nothing' ? ', all or nothing' : ''}`;
}
