import { sleep, startStopwatch } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import { away } from './keeper-client.js';
import type { KeeperClient } from './keeper-client.js';
import type { Answer, Body, RequestName, Version } from './protocol.js';

/** The process as its loan sees it: what it does with the keys. */
export interface Borrower {
  /** Forgets every key now. */
  readonly drop: () => void;
  /** Resolves when no append and no read that began before is under way. */
  readonly settled: () => Promise<void>;
  /** Other values read as erased: forgets the copies in memory now. */
  readonly forget: () => void;
  /** Writes the other copies again. Resolves when none has a value that reads as erased. */
  readonly rewrite: () => Promise<void>;
  /** A number that changes while the copies are written. */
  readonly progress: () => number;
  /** The loan has ended: forgets the keys of copies too. */
  readonly ended: () => void;
}

/** The loan of a process: it may use keys for as long as the keeper has answered of late. */
export interface Loan {
  /** @throws KeysUnavailableError, KeeperRefusedError */
  readonly ask: <Name extends RequestName>(name: Name, body: Body<Name>, timeoutMs?: number) => Promise<Answer<Name>>;
  readonly isLive: () => boolean;
  /** @throws KeysUnavailableError when the loan has ended, or the one with that number, although there is another one now. */
  readonly assertLive: (loan?: number) => void;
  /** The number of the loan. */
  readonly number: () => number;
  /** The time for a request that waits for other processes. */
  readonly longMs: () => number;
  /** Asks for the first time. @throws KeysUnavailableError, KeeperRefusedError */
  readonly begin: (borrower: Borrower) => Promise<void>;
  /** Asks every second, until the process stops. */
  readonly run: () => Promise<void>;
}

interface LoanPorts {
  readonly client: Pick<KeeperClient, 'ask'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly stopping: AbortSignal;
}

const everyMs = 1000;
/** An erasure waits for the loans of other processes, and then for the slowest of their copies. */
const copiesMsMax = 540_000;

/** A loan at a keeper. */
export function createLoan({ client, clock, log, stopping }: LoanPorts): Loan {
  let borrower: Borrower | undefined;
  let loanMs = 0;
  let number = 1;
  let sinceAskedMs: (() => number) | undefined;
  /** The newest version that the keeper has told. */
  let seen: Version | undefined;
  /** The newest one without a key from before it. */
  let dropped: Version | undefined;
  /** The newest one without a copy from before it. */
  let rewritten: Version | undefined;
  /** The erased values that the copies have not got. */
  let copiesFor: string | undefined;
  let problem: string | undefined;
  let waking = new AbortController();

  const confirm = (version: Version | undefined): number =>
    version?.epoch === seen?.epoch ? (version?.number ?? 0) : 0;
  const catchUp = once(async () => {
    while (dropped !== seen) {
      const target = seen;
      await borrower?.settled();
      if (target === seen) dropped = target;
    }
    waking.abort();
    rewrite();
  });
  const rewrite = once(async () => {
    while (dropped !== undefined && (rewritten !== dropped || copiesFor !== dropped.erased)) {
      const target = dropped;
      if (copiesFor !== target.erased) await borrower?.rewrite();
      [copiesFor, rewritten] = [target.erased, target];
      waking.abort();
    }
  });
  const see = (version: Version): void => {
    if (version.epoch === seen?.epoch && version.number <= seen.number) return;
    const isOtherErased = version.erased !== seen?.erased;
    seen = version;
    borrower?.drop();
    if (isOtherErased) borrower?.forget();
    catchUp();
  };
  const isLive = (): boolean => {
    if (sinceAskedMs === undefined) return false;
    if (sinceAskedMs() < loanMs) return true;
    sinceAskedMs = undefined;
    number += 1;
    copiesFor = undefined;
    borrower?.drop();
    borrower?.forget();
    borrower?.ended();
    return false;
  };
  const follow = async (): Promise<void> => {
    const asking = startStopwatch(clock);
    const progress = borrower?.progress() ?? 0;
    const confirmed = { epoch: seen?.epoch ?? '', dropped: confirm(dropped), rewritten: confirm(rewritten), progress };
    const { version, answer } = await client.ask('follow', { confirmed });
    // A loan that has ended while this request was on its way has ended: its keys are dropped first.
    isLive();
    loanMs = answer.loanMs;
    sinceAskedMs = asking;
    if (seen === undefined) copiesFor = version.erased;
    see(version);
    rewrite();
  };
  const followAgain = async (): Promise<void> => {
    try {
      await follow();
      if (problem !== undefined) log.info({}, 'the keeper answers again');
      problem = undefined;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      if (problem !== why) log.warn({ why }, 'the keeper cannot be asked');
      problem = why;
    }
    isLive();
  };
  return {
    ask: async (name, body, timeoutMs) => {
      const { version, answer } = await client.ask(name, body, timeoutMs);
      see(version);
      return answer;
    },
    isLive,
    number: () => number,
    assertLive: (wanted = number) => {
      if (!isLive() || wanted !== number) throw away('it has not answered for longer than its loans last');
    },
    longMs: () => loanMs + copiesMsMax,
    begin: async (own) => {
      borrower = own;
      await follow();
    },
    run: async () => {
      while (!stopping.aborted) {
        await sleep(clock, everyMs, AbortSignal.any([stopping, waking.signal]));
        waking = new AbortController();
        await followAgain();
      }
    },
  };
}

/** One run at a time: a call while it runs does nothing. The work looks at everything that has changed meanwhile. */
function once(work: () => Promise<void>): () => void {
  let isRunning = false;
  return () => {
    if (isRunning) return;
    isRunning = true;
    const end = (): void => {
      isRunning = false;
    };
    work().then(end, end);
  };
}
