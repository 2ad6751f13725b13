import type { OpenRunView, ToolCallView } from '@countersign/contracts';
import { agoWords, nameWords, printable } from '@countersign/text';
import { pagesOf } from '../connection/pages.js';
import type { Page } from '../connection/pages.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import { cut, fit } from '../text/width.js';
import { compactJson } from '../view/approval-summary.js';
import { stateOf } from '../view/call-story.js';
import type { Line } from '../view/line.js';

/** Selects calls. An absent member does not filter. */
export interface CallFilters {
  /** States, separated by commas. */
  readonly state?: string;
  readonly tool?: string;
  readonly run?: string;
  readonly agent?: string;
  readonly requestedBy?: string;
  readonly since?: string;
  readonly limit: number;
}

/** `countersign calls`: lists the calls, newest first. With `--json` it prints one JSON document per call. */
export function calls(invocation: Invocation, filters: CallFilters): Promise<ExitCode> {
  const { state, tool: toolName, run: runId, agent: agentId, requestedBy, since, limit } = filters;
  const query = { state, toolName, runId, agentId, requestedBy, since };
  return printList<ToolCallView>(invocation, {
    ...{ path: '/v1/tool-calls', query, limit },
    itemsOf: (page) => (page as unknown as { readonly calls: readonly ToolCallView[] }).calls,
    linesOf: (call) => callLines(call, invocation),
    nothing: 'No call matches.',
  });
}

/** `countersign runs`: lists the runs that have open calls, those begun last first. */
export function runs(
  invocation: Invocation,
  { agent: agentId, limit }: Pick<CallFilters, 'agent' | 'limit'>,
): Promise<ExitCode> {
  return printList<OpenRunView>(invocation, {
    ...{ path: '/v1/runs', query: { agentId }, limit },
    itemsOf: (page) => (page as unknown as { readonly runs: readonly OpenRunView[] }).runs,
    linesOf: (run) => runLines(run, invocation),
    nothing: 'No run has an open call.',
  });
}

interface List<Item> {
  readonly path: string;
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly limit: number;
  readonly itemsOf: (page: Page) => readonly Item[];
  readonly linesOf: (item: Item) => readonly Line[];
  /** The line that is printed for an empty list. */
  readonly nothing: string;
}

async function printList<Item>(invocation: Invocation, list: List<Item>): Promise<ExitCode> {
  let shown = 0;
  let hasMore = false;
  const sizeOf = (page: Page): number => list.itemsOf(page).length;
  for await (const page of pagesOf(invocation.client, list.path, list.query, sizeOf, list.limit)) {
    for (const item of list.itemsOf(page)) {
      invocation.printJson(item);
      invocation.print(...list.linesOf(item));
      shown += 1;
    }
    hasMore = page.nextCursor !== null;
  }
  if (shown === 0) invocation.print({ text: list.nothing });
  if (hasMore) invocation.note('There are more: raise --limit.');
  return exitCodes.ok;
}

const stateColumns = 18;

function callLines(call: ToolCallView, { columns, client }: Invocation): readonly Line[] {
  const id = printable(call.callId);
  const text = `${fit(printable(stateOf(call)), stateColumns)}${nameWords(call.toolName)} ${compactJson(call.arguments, columns)}`;
  const who = `requested ${agoWords(call.requestedAt, client.serverNow())}, agent ${nameWords(call.agentId)}, run ${nameWords(call.runId)}`;
  return [
    { text: cut(text, columns), ...(call.state === 'unknown' ? { tone: 'yellow' as const } : {}) },
    { text: cut(`  ${id}  ${who}`, Math.max(columns, id.length + 2)), tone: 'dim' },
  ];
}

function runLines(run: OpenRunView, { columns, client }: Invocation): readonly Line[] {
  const count = (n: number, word: string): string => `${String(n)} ${word}${n === 1 ? '' : 's'}`;
  const open = `${count(run.openCalls, 'open call')}, ${count(run.pendingApprovals, 'pending approval')}`;
  const last = `last event ${agoWords(run.lastEventAt, client.serverNow())}`;
  return [
    { text: printable(run.runId), tone: 'bold' },
    { text: cut(`  ${open}, ${last}`, columns) },
    {
      text: cut(`  agent ${nameWords(run.agentId)}, requested by ${nameWords(run.requestedBy)}`, columns),
      tone: 'dim',
    },
  ];
}
