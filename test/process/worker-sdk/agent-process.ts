// A worker in a separate process, to be killed. It stores its state in a file and records each run of its tool in
// another. With ROLE=ask it requests calls and then does nothing; with ROLE=serve it runs what others have requested. With ASKS=yes
// its tool asks a person in the middle; with DECIDES=yes its code denies the number 13 and asks a person about any other.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createWorker, gateTool, type Decide, type RunState, type StepOutcome } from '@countersign/worker-sdk';
import { z } from 'zod';

const {
  URL: url = '',
  AGENT = '',
  WORKER = '',
  FOLDER = '',
  IDEMPOTENT = '',
  GATED = '',
  ROLE = '',
  CALLS = '1',
  ASKS = '',
  DECIDES = '',
  N = '1',
  RUN = 'run-of-a-process',
} = process.env;
const stateFile = join(FOLDER, 'state.json');
const note = (line: string): void => {
  appendFileSync(join(FOLDER, 'runs.log'), `${line}\n`);
};

const decide: Decide<{ readonly n: number }> = ({ n }) => (n === 13 ? { deny: 'unlucky' } : 'ask');
const work = gateTool({
  name: 'work',
  inputSchema: z.strictObject({ n: z.int() }),
  needsApproval: GATED === 'yes',
  ...(DECIDES === 'yes' && { decide }),
  idempotent: IDEMPOTENT === 'yes',
  execute: async ({ n }, { attempt, idempotencyKey, ask }) => {
    note(`begin ${String(n)} ${String(attempt)} ${idempotencyKey}`);
    if (ASKS === 'yes') note(`answered ${JSON.stringify(await ask({ question: 'How many?' }))}`);
    while (!existsSync(join(FOLDER, 'go'))) await sleep(20);
    note(`end ${String(n)} ${String(attempt)} ${idempotencyKey}`);
    return { n, attempt };
  },
});

const worker = createWorker({
  url,
  token: AGENT,
  resolverToken: WORKER,
  agentId: 'agent',
  tools: [work],
  leaseMs: 1000,
});
const keep = (outcome: StepOutcome): StepOutcome => {
  writeFileSync(stateFile, JSON.stringify(outcome.state));
  return outcome;
};

if (ROLE === 'ask') {
  for (let n = 1; n <= Number(CALLS); n += 1) {
    const toolCalls = [{ toolCallId: 'c1', toolName: 'work', arguments: { n } }];
    await worker.ask({ runId: `run ${String(n)}`, toolCalls });
  }
  note('asked');
  setInterval(() => undefined, 60_000);
} else if (ROLE === 'serve') {
  note('serving');
  await worker.serve();
} else {
  await runOneStep();
}

async function runOneStep(): Promise<void> {
  const step = { runId: RUN, toolCalls: [{ toolCallId: 'c1', toolName: 'work', arguments: { n: Number(N) } }] };
  let outcome = existsSync(stateFile)
    ? await worker.resume(JSON.parse(readFileSync(stateFile, 'utf8')) as RunState, { timeoutMs: 200 })
    : keep(await worker.step(step, { timeoutMs: 200 }));
  while (outcome.stopReason !== null) {
    note(`waiting ${outcome.stopReason}`);
    outcome = keep(await worker.wait(outcome.state));
  }
  writeFileSync(join(FOLDER, 'results.json'), JSON.stringify(outcome.results));
  await worker.close();
}
