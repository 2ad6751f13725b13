import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, type ApprovalView, type Client, type JsonObject } from '@countersign/worker-sdk';
import type { Agent, Reaction } from './agents.ts';
import { runAgent, type Ended, type RunOptions } from './run-agent.ts';

/** The Countersign of the checks, and a port where there is none. */
export interface Place {
  readonly port: number;
  readonly freePort: number;
  readonly dataFolder: string;
  readonly approverToken: string;
}

/** The result of one check. */
export interface Verdict {
  readonly check: string;
  /** The behaviour of the agent that was seen. */
  readonly seen: string;
  /** Absent: as it should be. */
  readonly problem?: string;
  readonly log: string;
}

type Run = (more: Pick<RunOptions, 'form'> & Partial<RunOptions>) => Promise<Ended>;
type DecisionType = 'approve' | 'deny' | 'edit';

const [notWritten, written, edited] = ['', 'written\n', 'edited\n'];
const reason = 'not on Friday';
const quotedCharactersMax = 110;

/** Runs every check of an agent, one after the other. */
export async function* checksOf(agent: Agent, bin: string, place: Place): AsyncGenerator<Verdict> {
  const client = createClient({ url: `http://127.0.0.1:${place.port}`, token: place.approverToken });
  const { port, dataFolder } = place;
  const run: Run = (more) => runAgent({ agent, bin, port, dataFolder, ...more });

  yield* pendingThenApproved(run, client);
  yield (await held(run, client, 'approve')).verdict('approved while held', written);
  yield (await held(run, client, 'deny')).verdict('denied while held', notWritten, reason);
  yield (await held(run, client, 'edit')).verdict('edited while held', edited, 'An approver changed the arguments');
  const failing = await held(run, client, 'approve', '; exit 3');
  yield await reported('a command that fails', client, failing, agent.failedCommand);
  const away = await run({ form: 'as it is', port: place.freePort });
  yield verdictOf(away, 'Countersign is away', notWritten, 'Start Countersign');
  yield* brokenHooks(run, agent);
}

/** The hook waits for one second. The model calls again after the approval, with the same arguments. */
async function* pendingThenApproved(run: Run, client: Client): AsyncGenerator<Verdict> {
  const seen: { text?: string; approval?: ApprovalView | undefined } = {};
  const ended = await run({
    form: 'impatient',
    next: async (told, marker) => {
      if (seen.text !== undefined || !told.includes('pending: approval apr_')) return { say: 'Done.' };
      seen.text = marker.text();
      seen.approval = await respond(client, 'approve', AbortSignal.timeout(10_000));
      return { run: marker.command };
    },
  });
  const [first, ...later] = ended.told;
  const pending = { ...ended, told: first === undefined ? [] : [first], text: seen.text ?? ended.text };
  yield verdictOf(pending, 'pending', notWritten, 'pending: approval apr_');
  yield verdictOf({ ...ended, told: later }, 'approved, then called again', written);
  yield await reported('the result is reported', client, { ended, approval: seen.approval }, 'succeeded');
}

interface Held {
  readonly ended: Ended;
  /** Undefined: the hook requested none. */
  readonly approval: ApprovalView | undefined;
  readonly verdict: (check: string, text: string, told?: string) => Verdict;
}

/** The hook holds the call, as long as the example lets it, until a person decides. */
async function held(run: Run, client: Client, type: DecisionType, commandEnd = ''): Promise<Held> {
  const ending = new AbortController();
  const responded = respond(client, type, ending.signal);
  const ended = await run({ form: 'as it is', commandEnd });
  ending.abort();
  const approval = await responded;
  const verdict = (...expected: readonly [string, string, string?]): Verdict => {
    const asExpected = verdictOf(ended, ...expected);
    return approval === undefined ? { ...asExpected, problem: 'the hook requested no approval' } : asExpected;
  };
  return { ended, approval, verdict };
}

/** Waits for the pending approval and decides it. Undefined: there was none until the signal. */
async function respond(client: Client, type: DecisionType, signal: AbortSignal): Promise<ApprovalView | undefined> {
  while (!signal.aborted) {
    const [approval] = (await client.listApprovals({ state: 'pending' })).approvals;
    if (approval !== undefined) {
      const { approvalId, callId, proposal } = approval;
      const { arguments: args } = await client.getToolCall(callId);
      const decision =
        type === 'edit'
          ? { type, arguments: JSON.parse(JSON.stringify(args).replace('written', 'edited')) as JsonObject }
          : { type };
      await client.respond(approvalId, { decision, reason, proposalDigest: proposal.digest });
      return approval;
    }
    await sleep(50);
  }
  return undefined;
}

async function* brokenHooks(run: Run, { documented }: Agent): AsyncGenerator<Verdict> {
  const checks = [
    ['killed', 'the hook is killed'],
    ['not found', 'the hook is not found'],
    ['timed out', 'the hook has timed out'],
    ['not trusted', 'the hook is not trusted'],
  ] as const;
  for (const [how, check] of checks) {
    const reaction = documented[how];
    if (reaction === undefined) continue;
    const ended = await run(how === 'not trusted' ? { form: 'as it is', isTrusted: false } : { form: how });
    yield reactionOf(ended, check, reaction);
  }
}

function reactionOf(ended: Ended, check: string, documented: Reaction): Verdict {
  const verdict = verdictOf(ended, check, documented === 'runs' ? written : notWritten);
  if (verdict.problem === undefined) return verdict;
  return { ...verdict, problem: `${verdict.problem}, as docs/coding-agents.md says` };
}

function verdictOf({ told, text, log }: Ended, check: string, expectedText: string, expectedTold = ''): Verdict {
  const seen = `${ranAs(text)}, and the model was told ${quoted(told[0])}`;
  const problems = [
    ...(told.length === 0 ? ['the agent did not call its model again after the tool'] : []),
    ...(text === expectedText ? [] : [`expected: ${ranAs(expectedText)}`]),
    ...(told[0]?.includes(expectedTold) === false ? [`the model should be told "${expectedTold}"`] : []),
  ];
  return { check, seen, log, ...(problems.length === 0 ? {} : { problem: problems.join('; ') }) };
}

async function reported(
  check: string,
  client: Client,
  { ended: { log }, approval }: Pick<Held, 'ended' | 'approval'>,
  expected: Agent['failedCommand'],
): Promise<Verdict> {
  if (approval === undefined) return { check, log, seen: 'no call', problem: 'the hook requested no approval' };
  const { state, output } = await client.getToolCall(approval.callId);
  const seen = `the call is ${state}, its output ${quoted(JSON.stringify(output ?? null))}`;
  return { check, seen, log, ...(state === expected ? {} : { problem: `docs/coding-agents.md says ${expected}` }) };
}

function ranAs(text: string): string {
  if (text === notWritten) return 'the tool did not run';
  const lines = text.trim().split('\n');
  return lines.length === 1 ? `the tool ran once, ${String(lines[0])}` : `the tool ran ${lines.length} times`;
}

function quoted(text = ''): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return `"${line.length > quotedCharactersMax ? `${line.slice(0, quotedCharactersMax)}…` : line}"`;
}
