import { beforeAll, describe, expect, test } from '@jest/globals';
import { byCall } from './audit/log.js';
import type { CallEvent, Entry } from './audit/log.js';
import { cleanUpAfterAll, cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';
import { install } from './harness/standalone.js';
import type { Installation } from './harness/standalone.js';
import { eventually } from './harness/wait.js';
import { accepted, claim, pendingIdOf, requestOne } from './traffic/scene.js';
import type { Ledger, Reply } from './traffic/ledger.js';
import { countedTools } from './traffic/tools.js';

/** Longer than the spec takes: the end of a lease would also be an append, and hit a crash point. */
const leaseMs = 600_000;

/** A command, prepared before the crash; it is sent once, and retried until it gets a response. */
interface Command {
  readonly send: () => Promise<Reply<unknown>>;
  /** The id of its call, from the response. */
  readonly callIdOf: (reply: Reply<unknown>) => string;
  /** The event that it records, once. */
  readonly leaves: CallEvent['type'];
}

const commands: Readonly<Record<string, (ledger: Installation) => Promise<Command>>> = {
  'a request': async ({ stage, ledger }) => {
    const body = { runId: stage.name('run'), calls: [{ toolCallId: 'call', toolName: 'move', arguments: {} }] };
    const callIdOf = (reply: Reply<unknown>): string =>
      accepted(stage, 'request', reply as Awaited<ReturnType<Ledger['request']>>)[0]?.callId ?? '';
    return { send: () => ledger.request(body), callIdOf, leaves: 'ToolCallRequested' };
  },
  'an answer': async ({ stage, ledger }) => {
    const call = await requestOne(stage, { needsApproval: true });
    const body = { decision: { type: 'approve' }, actionDigest: call.actionDigest } as const;
    return {
      send: () => ledger.respond(pendingIdOf(call), body),
      callIdOf: () => call.callId,
      leaves: 'ApprovalResponded',
    };
  },
  'a claim': async ({ stage, ledger }) => {
    const { callId } = await requestOne(stage);
    const body = { resolverId: 'worker', leaseMs };
    return { send: () => ledger.claim(callId, body), callIdOf: () => callId, leaves: 'ExecutionClaimed' };
  },
  'an outcome': async ({ stage, ledger }) => {
    const { callId } = await requestOne(stage);
    const { attempt } = await claim(stage, callId, leaseMs);
    const body = { attempt, status: 'succeeded', output: { moved: 1 } } as const;
    return { send: () => ledger.report(callId, body), callIdOf: () => callId, leaves: 'ExecutionSucceeded' };
  },
  'a cancellation': async ({ stage, ledger }) => {
    const { callId } = await requestOne(stage, { needsApproval: true });
    return { send: () => ledger.cancel(callId), callIdOf: () => callId, leaves: 'ToolCallCancelled' };
  },
};

const crashPoints = ['append.before-commit', 'append.after-commit', 'append.before-answer'];
const cases = Object.keys(commands).flatMap((name) => crashPoints.map((point) => ({ name, point })));

describe('a crash while the log is written', () => {
  cleanUpAfterAll();
  let ledger: Installation;
  const prepared: Command[] = [];
  const recorded: { readonly name: string; readonly callId: string; readonly leaves: CallEvent['type'] }[] = [];
  /** The index of the case whose crash the process of the moment will meet. */
  let armedFor = -1;
  /** Starts a process that will crash in the append of a case, after the record of its start and `others`. */
  const arm = async (index: number, others: number): Promise<void> => {
    armedFor = index;
    const point = cases[index]?.point;
    await ledger.restart(point === undefined ? {} : { COUNTERSIGN_CRASH_AT: `${point}:${String(2 + others)}` });
  };
  beforeAll(async () => {
    ledger = await install();
    for (const { name } of cases) {
      const command = await commands[name]?.(ledger);
      if (command === undefined) throw new Error(`there is no command ${name}`);
      prepared.push(command);
    }
  });

  test.each(cases)('$point of $name: the repeat gets the answer', async (one) => {
    const index = cases.indexOf(one);
    const { name, point } = one;
    const command = prepared[index] as Command;
    if (armedFor !== index) {
      await ledger.server().stop('SIGKILL');
      await arm(index, 0);
    }
    const { exited } = ledger.server();
    const answer = command.send();
    expect(await exited).toEqual({ code: null, signal: 'SIGKILL' });
    // This process answers the repeat, which appends what was lost. Then it meets the next crash, so each case takes one start.
    await arm(index + 1, point === 'append.before-commit' ? 1 : 0);
    const reply = await answer;
    expect(reply).toMatchObject({ status: 'ok' });
    recorded.push({ name: `${point} of ${name}`, callId: command.callIdOf(reply), leaves: command.leaves });
    expect(ledger.journal.surprises).toEqual([]);
  });

  test('each of them is recorded once', async () => {
    const entries = await ledger.stopAndRead();
    const counts = recorded.map(({ name, callId, leaves }) => [name, countOf(entries, callId, leaves)]);
    expect(counts).toEqual(cases.map(({ name, point }) => [`${point} of ${name}`, 1]));
    const requested = entries.filter(({ type }) => type === 'ToolCallRequested');
    expect(requested).toHaveLength(cases.length);
  });
});

function countOf(entries: readonly Entry[], callId: string, type: string): number {
  return (byCall(entries).get(callId) ?? []).filter((event) => event.type === type).length;
}

describe('a crash of the resolver, around a tool that must not run twice', () => {
  cleanUpAfterEach();
  /** Requests a call of the module tool and crashes at the point; then restarts. */
  async function crashAt(point: string) {
    const tools = await countedTools(temporaryFolder());
    const ledger = await install({ COUNTERSIGN_TOOLS: tools.toolsFile });
    await ledger.server().stop('SIGKILL');
    const crashing = await ledger.restart({ COUNTERSIGN_CRASH_AT: `${point}:1` });
    const requested = requestOne(ledger.stage, { toolName: 'write_line_freely' });
    expect(await crashing.exited).toEqual({ code: null, signal: 'SIGKILL' });
    await ledger.restart();
    return { ledger, tools, callId: (await requested).callId };
  }
  /** Waits until the resolver has handled everything: until a later call has been executed. */
  async function afterAnotherCall({ stage }: Installation): Promise<void> {
    const { callId } = await requestOne(stage, { toolName: 'write_line_freely' });
    await eventually('another call to succeed', async () => {
      const { state } = accepted(stage, 'look', await stage.ledger.call(callId));
      return state === 'succeeded' ? true : undefined;
    });
  }

  test('before the claim: it runs after the restart, once', async () => {
    const { ledger, tools, callId } = await crashAt('resolver.before-claim');
    await afterAnotherCall(ledger);
    expect(tools.executions().filter((one) => one.callId === callId)).toHaveLength(1);
    expect(accepted(ledger.stage, 'look', await ledger.ledger.call(callId)).state).toBe('succeeded');
  });

  test.each([
    ['resolver.after-claim', 0],
    ['resolver.after-execute', 1],
  ] as const)('%s: it is not run again, its lease decides', async (point, times) => {
    const { ledger, tools, callId } = await crashAt(point);
    await afterAnotherCall(ledger);
    expect(tools.executions().filter((one) => one.callId === callId)).toHaveLength(times);
    expect(accepted(ledger.stage, 'look', await ledger.ledger.call(callId)).state).toBe('executing');
    const entries = await ledger.stopAndRead();
    expect(countOf(entries, callId, 'ExecutionClaimed')).toBe(1);
  });
});
