import type { RunView } from '@countersign/contracts';
import { nameWords, printable } from '@countersign/text';
import { cut, fit } from '../text/width.js';
import type { CardOptions } from './approval-card.js';
import { approvalSummary, compactJson } from './approval-summary.js';
import { stateOf } from './call-story.js';
import type { Line } from './line.js';
import { wrapped } from './line.js';

const stateColumns = 18;

/** An agent run: its calls in order, then what it waits for. */
export function runLines(run: RunView, options: CardOptions): Line[] {
  const { columns } = options;
  const pending = run.pendingApprovals.length;
  const waits =
    pending === 0 ? 'no pending approval' : `waits for ${String(pending)} ${pending === 1 ? 'approval' : 'approvals'}`;
  return [
    ...wrapped(`run ${nameWords(run.runId)}   ${waits}`, columns, 'bold'),
    ...run.calls.flatMap((call): Line[] => [
      {
        text: cut(
          `${fit(printable(stateOf(call)), stateColumns)}${nameWords(call.toolName)} ${compactJson(call.arguments, columns)}`,
          columns,
        ),
      },
      { text: `${' '.repeat(stateColumns)}${printable(call.callId)}`, tone: 'dim' },
    ]),
    ...run.pendingApprovals.flatMap((approval) => [{ text: '' }, ...approvalSummary(approval, options)]),
  ];
}
