import type { ApprovalView } from '@countersign/contracts';
import type { LedgerClient } from '../connection/ledger-client.js';
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
}

interface Page {
  readonly approvals: readonly ApprovalView[];
  readonly nextCursor: string | null;
  /** The position of the log that the page shows: events after it are news. */
  readonly position: number;
}

const pageSize = 500;

/** The pages of approvals that pass the filters, oldest first. */
export async function* approvalPages(
  client: LedgerClient,
  filters: ApprovalFilters,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<Page, void> {
  const { state = 'pending', tool: toolName, run: runId, agent: agentId, group } = filters;
  let cursor: string | undefined;
  let left = limit;
  do {
    const query = { state, toolName, runId, agentId, group, limit: Math.min(left, pageSize), cursor };
    const page = await client.get<Page>('/v1/approvals', { query });
    yield page;
    left -= page.approvals.length;
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined && left > 0);
}

/** `countersign list`: prints the approvals once. With `--json` it prints one JSON document per approval. */
export async function list(
  invocation: Invocation,
  options: ApprovalFilters & { readonly limit?: number },
): Promise<ExitCode> {
  const { client, columns } = invocation;
  let shown = 0;
  let hasMore = false;
  for await (const page of approvalPages(client, options, options.limit)) {
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
  if (shown === 0) invocation.print({ text: `Nothing is ${options.state ?? 'pending'}.` });
  if (hasMore) invocation.note('There are more: raise --limit, or omit it for all.');
  return exitCodes.ok;
}
