// The agent's process: runs the script, pauses where approval is needed, and continues after the decision.
import { createWorker, type StepOutcome, type ToolResult } from '@countersign/worker-sdk';
import { findConnection } from './connection.ts';
import { createFileTools } from './file-tools.ts';
import { script, type Turn } from './model.ts';
import { openScratch, readProgress, writeProgress, type Progress } from './scratch.ts';
import { createSqlTools } from './sql-tools.ts';
import { createWebTools } from './web-tools.ts';

const [folder = '', sitePort = '0', cli = 'npx countersign'] = process.argv.slice(2);
// The demo was killed: pending approvals stay pending, and another start with the same folder continues.
process.once('disconnect', () => process.exit(1));
process.channel?.unref();

const scratch = openScratch(folder);
const worker = createWorker({
  ...findConnection(process.env),
  agentId: 'demo-agent',
  tools: [
    ...createFileTools(scratch.workspace),
    ...createWebTools(scratch.domainsFile),
    ...createSqlTools(scratch.ordersFile),
  ],
  log: {
    warn: (fields, message) => console.error('agent:', message, fields),
    error: (fields, message) => console.error('agent:', message, fields),
  },
});

const begun: Progress = { runId: `demo-${String(Date.now())}`, sitePort: Number(sitePort), turn: 0, state: null };
let progress = readProgress(scratch.progressFile) ?? begun;
const turns = script(progress.sitePort);
console.log(`agent: run ${progress.runId}${progress.turn > 0 || progress.state !== null ? ', going on' : ''}`);

for (const [index, turn] of turns.entries()) {
  if (index < progress.turn) continue;
  console.log(`\nmodel: ${turn.says}`);
  for (const result of await finish(turn, index)) console.log(`  ${summary(result)}`);
  save({ ...progress, turn: index + 1, state: null });
}
await worker.close();
console.log('\nagent: done');

async function finish(turn: Turn, index: number): Promise<readonly ToolResult[]> {
  const shown = new Set<string>();
  const { runId, state } = progress;
  let outcome =
    state === null
      ? await worker.step({ runId, batchId: `turn-${String(index + 1)}`, toolCalls: turn.toolCalls })
      : await worker.resume(state);
  while (outcome.stopReason !== null) {
    save({ ...progress, state: outcome.state });
    show(outcome, shown);
    outcome = await worker.wait(outcome.state);
  }
  return outcome.results;
}

function save(next: Progress): void {
  progress = next;
  writeProgress(scratch.progressFile, next);
}

function show({ pendingApprovals }: StepOutcome, shown: Set<string>): void {
  const fresh = pendingApprovals.filter(({ approvalId }) => !shown.has(approvalId));
  if (fresh.length === 0) return;
  console.log(
    `agent: paused, ${String(fresh.length)} approval(s) pending. In another terminal:\n    ${cli} inbox\n  or`,
  );
  for (const { approvalId, toolName, description } of fresh) {
    shown.add(approvalId);
    console.log(`    ${cli} approve ${approvalId}   # ${toolName}: ${description ?? ''}`);
  }
  console.log(`  and \`deny\` in place of \`approve\` for what you do not want.`);
}

function summary({ toolName, status, output, message }: ToolResult): string {
  const text = status === 'succeeded' ? JSON.stringify(output) : (message ?? '');
  return `${toolName.padEnd(12)} ${status.padEnd(9)} ${text.length > 160 ? `${text.slice(0, 160)} …` : text}`;
}
