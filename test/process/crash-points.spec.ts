import { describe, expect, test } from '@jest/globals';
import { byCall } from './audit/log.js';
import type { CallEvent, Entry } from './audit/log.js';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';
import { install } from './harness/standalone.js';
import type { Installation } from './harness/standalone.js';
import { eventually } from './harness/wait.js';
import { accepted, claim, pendingIdOf, requestOne } from './traffic/scene.js';
import type { Reply } from './traffic/ledger.js';
import { countedTools } from './traffic/tools.js';

cleanUpAfterEach();

/** A command, prepared before the crash; it is sent once, and repeated until it is answered. */
interface Command {
  readonly send: () => Promise<Reply<unknown>>;
  readonly callId: string;
  /** What it leaves in the log, once. */
  readonly leaves: CallEvent['type'];
}

const commands: Readonly<Record<string, (ledger: Installation) => Promise<Command>>> = {
  'a request': async ({ stage, ledger }) => {
    // Requested before, so that its id is known; the one that counts is the second call of the run.
    const body = { runId: 'run', calls: [{ toolCallId: 'first', toolName: 'move', arguments: {} }] };
    const [first] = accepted(stage, 'request', await ledger.request(body));
    const again = { runId: 'run-2', calls: [{ toolCallId: 'second', toolName: 'move', arguments: {} }] };
    return { send: () => ledger.request(again), callId: first?.callId ?? '', leaves: 'ToolCallRequested' };
  },
  'an answer': async ({ stage, ledger }) => {
    const call = await requestOne(stage, { needsApproval: true });
    const body = { decision: { type: 'approve' }, actionDigest: call.actionDigest } as const;
    return { send: () => ledger.respond(pendingIdOf(call), body), callId: call.callId, leaves: 'ApprovalResponded' };
  },
  'a claim': async ({ stage, ledger }) => {
    const { callId } = await requestOne(stage);
    const body = { resolverId: 'worker', leaseMs: 30_000 };
    return { send: () => ledger.claim(callId, body), callId, leaves: 'ExecutionClaimed' };
  },
  'an outcome': async ({ stage, ledger }) => {
    const { callId } = await requestOne(stage);
    const { attempt } = await claim(stage, callId, 30_000);
    const body = { attempt, status: 'succeeded', output: { moved: 1 } } as const;
    return { send: () => ledger.report(callId, body), callId, leaves: 'ExecutionSucceeded' };
  },
  'a cancellation': async ({ stage, ledger }) => {
    const { callId } = await requestOne(stage, { needsApproval: true });
    return { send: () => ledger.cancel(callId), callId, leaves: 'ToolCallCancelled' };
  },
};

const crashPoints = ['append.before-commit', 'append.after-commit', 'append.before-answer'];
const cases = Object.keys(commands).flatMap((name) => crashPoints.map((point) => ({ name, point })));

describe('a crash while the log is written', () => {
  test.each(cases)(
    '$point of $name: the repeat gets the answer, and it is recorded once',
    async ({ name, point }) => {
      const ledger = await install();
      const command = await commands[name]?.(ledger);
      if (command === undefined) throw new Error(`there is no command ${name}`);
      await ledger.server().stop('SIGKILL');
      const crashing = await ledger.restart({ COUNTERSIGN_CRASH_AT: `${point}:1` });
      const answer = command.send();
      expect(await crashing.exited).toEqual({ code: null, signal: 'SIGKILL' });
      await ledger.restart();
      expect(await answer).toMatchObject({ status: 'ok' });
      const entries = await ledger.stopAndRead();
      const calls = name === 'a request' ? new Set(byCall(entries).keys()) : new Set([command.callId]);
      for (const callId of calls) expect(countOf(entries, callId, command.leaves)).toBe(1);
      expect(calls.size).toBe(name === 'a request' ? 2 : 1);
      expect(ledger.journal.surprises).toEqual([]);
    },
    120_000,
  );
});

function countOf(entries: readonly Entry[], callId: string, type: string): number {
  return (byCall(entries).get(callId) ?? []).filter((event) => event.type === type).length;
}

describe('a crash of the resolver, around a tool that must not run twice', () => {
  /** Requests a call of the module tool and dies at the point; then starts again. */
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
  /** Lets the resolver come by all that it finds: a call after this one has been executed. */
  async function afterAnotherCall({ stage }: Installation): Promise<void> {
    const { callId } = await requestOne(stage, { toolName: 'write_line_freely' });
    await eventually('another call to succeed', 20_000, async () => {
      const { state } = accepted(stage, 'look', await stage.ledger.call(callId));
      return state === 'succeeded' ? true : undefined;
    });
  }

  test('before the claim: it runs after the restart, once', async () => {
    const { ledger, tools, callId } = await crashAt('resolver.before-claim');
    await afterAnotherCall(ledger);
    expect(tools.executions().filter((one) => one.callId === callId)).toHaveLength(1);
    expect(accepted(ledger.stage, 'look', await ledger.ledger.call(callId)).state).toBe('succeeded');
  }, 120_000);

  test.each([
    ['resolver.after-claim', 0],
    ['resolver.after-execute', 1],
  ] as const)(
    '%s: it is not run again, its lease decides',
    async (point, times) => {
      const { ledger, tools, callId } = await crashAt(point);
      await afterAnotherCall(ledger);
      expect(tools.executions().filter((one) => one.callId === callId)).toHaveLength(times);
      expect(accepted(ledger.stage, 'look', await ledger.ledger.call(callId)).state).toBe('executing');
      const entries = await ledger.stopAndRead();
      expect(countOf(entries, callId, 'ExecutionClaimed')).toBe(1);
    },
    120_000,
  );
});
