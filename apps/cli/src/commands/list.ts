import type { ApprovalView } from '@countersign/contracts';
import type { LedgerClient } from '../connection/ledger-client.js';
import { pagesOf } from '../connection/pages.js';
import type { Page } from '../connection/pages.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import { approvalSummary } from '../view/approval-summary.js';

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

/** `countersign list`: prints the approvals once. With `--json` it prints one JSON document per approval. */
export async function list(
  invocation: Invocation,
  options: ApprovalFilters & { readonly limit?: number },
): Promise<ExitCode> {
  const { client, columns } = invocation;
  const { state = 'pending', sort = state === 'pending' ? 'risk' : undefined } = options;
  let shown = 0;
  let hasMore = false;
  for await (const page of approvalPages(client, { ...options, ...(sort !== undefined && { sort }) }, options.limit)) {
    for (const approval of page.approvals) {
      invocation.printJson(approval);
      invocation.print(
        ...(shown > 0 ? [{ text: '' }] : []),
        ...approvalSummary(approval, { columns, nowMs: client.serverNow() }),
      );
      shown += 1;
    }
    hasMore = page.nextCursor !== null;
  }
  if (shown === 0) invocation.print({ text: `Nothing is ${state}.` });
  if (hasMore) invocation.note('There are more: raise --limit, or omit it for all.');
  return exitCodes.ok;
}
