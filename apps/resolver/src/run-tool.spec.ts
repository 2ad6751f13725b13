import { createVirtualClock } from '@countersign/runtime/testing';
import { runTool } from './run-tool.js';
import type { FinalOutcome, RunOptions } from './run-tool.js';
import type { ToolOutcome } from './tools/tool.js';

const unknown: ToolOutcome = { status: 'unknown', message: 'broken' };
const notSent: ToolOutcome = { status: 'not-sent', code: 'unreachable', message: 'refused' };
const refused: ToolOutcome = { status: 'refused', code: 'address-not-allowed', message: 'private' };
const done: ToolOutcome = { status: 'succeeded', output: 1 };

interface Tried {
  readonly outcome: FinalOutcome;
  /** When the tool was run, in ms. */
  readonly at: readonly number[];
}

/** Runs a tool that ends with these results, one after the other; then the last one always. */
async function run(
  endings: readonly ToolOutcome[],
  options: { readonly idempotent?: boolean; readonly attempt?: number; readonly mayTry?: RunOptions['mayTry'] } = {},
): Promise<Tried> {
  const { idempotent = false, attempt = 1, mayTry = () => true } = options;
  const clock = createVirtualClock();
  const at: number[] = [];
  const tool = {
    name: 'tool',
    tenant: 'default',
    needsApproval: true,
    idempotent,
    inputSchema: null,
    validate: () => [],
    run: async () => {
      at.push(clock.monotonic());
      return endings[Math.min(at.length, endings.length) - 1] ?? unknown;
    },
  };
  const given = {
    callId: 'tc_1',
    runId: 'run-1',
    toolName: 'tool',
    arguments: {},
    actionDigest: '',
    attempt,
    idempotencyKey: 'key',
    signal: new AbortController().signal,
  };
  const running = runTool({ tool, run: given, idempotent, mayTry, clock });
  await clock.advanceAsync(60_000);
  return { outcome: await running, at };
}

describe('running a tool', () => {
  it('takes the first answer for what it is', async () => {
    expect(await run([done])).toEqual({ outcome: done, at: [0] });
    const failed: ToolOutcome = { status: 'failed', error: 'no' };
    expect(await run([failed], { idempotent: true })).toEqual({ outcome: failed, at: [0] });
  });

  it('never tries again what may have run, unless the tool is idempotent', async () => {
    expect(await run([unknown, done])).toEqual({ outcome: { status: 'unknown', reason: 'broken' }, at: [0] });
    expect(await run([unknown, unknown, done], { idempotent: true })).toEqual({ outcome: done, at: [0, 1000, 3000] });
  });

  it('tries so often and no more, and says then that it does not know', async () => {
    expect(await run([unknown], { idempotent: true })).toEqual({
      outcome: { status: 'unknown', reason: 'broken' },
      at: [0, 1000, 3000, 7000, 15000],
    });
  });

  it('retries a request that certainly was not sent, for every tool, and then reports a failure', async () => {
    expect(await run([notSent, done])).toEqual({ outcome: done, at: [0, 1000] });
    const { outcome, at } = await run([notSent]);
    expect(outcome).toEqual({ status: 'failed', error: { code: 'unreachable', message: 'refused' } });
    expect(at).toHaveLength(5);
  });

  it('does not try again what will never be sent', async () => {
    const error = { code: 'address-not-allowed', message: 'private' };
    expect(await run([refused])).toEqual({ outcome: { status: 'failed', error }, at: [0] });
  });

  it('does not call a failure what may have run in an earlier try or attempt', async () => {
    const idempotent = true;
    expect((await run([unknown, notSent], { idempotent })).outcome).toEqual({ status: 'unknown', reason: 'refused' });
    expect((await run([notSent], { idempotent, attempt: 2 })).outcome).toEqual({
      status: 'unknown',
      reason: 'refused',
    });
    expect((await run([unknown, refused], { idempotent })).outcome).toMatchObject({ error: { mayHaveRun: true } });
  });

  it('does not try again what may still run: it failed if it is idempotent, and is unknown otherwise', async () => {
    const timedOut: ToolOutcome = { status: 'timed-out', message: 'too long' };
    const error = { code: 'tool-timeout', message: 'too long', mayHaveRun: true };
    expect(await run([timedOut, done], { idempotent: true })).toEqual({
      outcome: { status: 'failed', error },
      at: [0],
    });
    expect(await run([timedOut, done])).toEqual({ outcome: { status: 'unknown', reason: 'too long' }, at: [0] });
  });

  it('begins no try once the claim no longer holds', async () => {
    const message = 'the claim was over before the tool was run';
    const never = (): boolean => false;
    expect(await run([done], { mayTry: never })).toEqual({
      outcome: { status: 'failed', error: { code: 'not-run', message } },
      at: [],
    });
    expect((await run([done], { mayTry: never, attempt: 2 })).outcome).toEqual({ status: 'unknown', reason: message });
    let tries = 0;
    const twice = (): boolean => (tries += 1) <= 2;
    const { outcome, at } = await run([unknown], { idempotent: true, mayTry: twice });
    expect([outcome.status, at]).toEqual(['unknown', [0, 1000]]);
  });
});
