import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FencedError } from './exclusive-progress.js';
import type { ExclusiveProgress, Turn } from './exclusive-progress.js';
import { eventually } from './testing/eventually.js';

/** Several processes that share one progress, with nothing stored yet, and a test's control over them. */
export interface ExclusiveProgressHarness {
  /** The progress of one more process. */
  readonly open: () => Promise<ExclusiveProgress>;
  /** The process hangs, as in a long pause: it hears nothing and nothing that it sends arrives, until it is thawed. */
  readonly freeze: (process: ExclusiveProgress) => Promise<void>;
  readonly thaw: (process: ExclusiveProgress) => Promise<void>;
  /** Ends every process. */
  readonly close: () => Promise<void>;
}

/**
 * The contract of every exclusive progress.
 */
export function exclusiveProgressContract(name: string, open: () => Promise<ExclusiveProgressHarness>): void {
  describe(`exclusive progress: ${name}`, () => {
    let harness: ExclusiveProgressHarness;
    let stopped: AbortController;
    beforeEach(async () => {
      stopped = new AbortController();
      harness = await open();
    });
    afterEach(async () => {
      stopped.abort();
      await harness.close();
    });
    const take = (process: ExclusiveProgress): Promise<Turn> => process.take(stopped.signal);
    /** Waits for the leadership, and records its term. */
    const standBy = (process: ExclusiveProgress): { turn: Turn | undefined } => {
      const seen: { turn: Turn | undefined } = { turn: undefined };
      take(process).then(
        (turn) => (seen.turn = turn),
        () => undefined,
      );
      return seen;
    };

    it('begins with nothing kept, and goes on with what was kept last', async () => {
      const process = await harness.open();
      const first = await take(process);
      expect(first.progress).toBeNull();
      await first.keep('1');
      await first.keep('{"position":2,"ü":true}');
      await first.release();
      expect((await take(process)).progress).toBe('{"position":2,"ü":true}');
    });

    it('hands a turn and its progress to a waiter only after the release', async () => {
      const [one, other] = [await harness.open(), await harness.open()];
      const first = await take(one);
      const waiting = standBy(other);
      await first.keep('17');
      expect([waiting.turn, first.ended.aborted]).toEqual([undefined, false]);
      await first.release();
      await eventually(() => expect(waiting.turn?.progress).toBe('17'));
    });

    it('says so when a turn is released, and takes nothing from it any more', async () => {
      const turn = await take(await harness.open());
      await turn.keep('1');
      await turn.release();
      await turn.release();
      expect(turn.ended.aborted).toBe(true);
      await expect(turn.keep('2')).rejects.toBeInstanceOf(FencedError);
    });

    it('replaces a process that hangs, and fences it when it wakes', async () => {
      const [one, other] = [await harness.open(), await harness.open()];
      const first = await take(one);
      await first.keep('5');
      const waiting = standBy(other);
      await harness.freeze(one);
      await eventually(() => expect(waiting.turn?.progress).toBe('5'));
      await waiting.turn?.keep('9');
      await harness.thaw(one);
      await expect(first.keep('6')).rejects.toBeInstanceOf(FencedError);
      await eventually(() => expect(first.ended.aborted).toBe(true));
      await waiting.turn?.release();
      expect((await take(other)).progress).toBe('9');
    });

    it('lets go of a process that no longer wants its turn', async () => {
      const [one, other, third] = [await harness.open(), await harness.open(), await harness.open()];
      const first = await take(one);
      const impatient = new AbortController();
      const given = other.take(impatient.signal);
      impatient.abort(new Error('no longer'));
      await expect(given).rejects.toThrow('no longer');
      await expect(other.take(AbortSignal.abort(new Error('never')))).rejects.toThrow('never');
      const waiting = standBy(third);
      await first.keep('1');
      await first.release();
      await eventually(() => expect(waiting.turn?.progress).toBe('1'));
    });
  });
}
