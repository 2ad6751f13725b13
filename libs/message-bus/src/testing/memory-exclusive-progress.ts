import { FencedError } from '../exclusive-progress.js';
import type { ExclusiveProgress, Turn } from '../exclusive-progress.js';

/** Several processes that share one progress in memory, and a test's control over them. */
export interface MemoryExclusiveProgress {
  /** The progress of one more process. */
  readonly open: () => ExclusiveProgress;
  /** The last stored progress. */
  readonly kept: () => string | null;
  /** Every progress that was ever kept, in order. */
  readonly history: readonly string[];
  /** Ends the current term and gives the next one to a candidate; the leader is told. */
  readonly depose: () => void;
  /** The process hangs: it receives nothing, and its requests wait. A candidate becomes leader. */
  readonly freeze: (process: ExclusiveProgress) => void;
  /** It continues, and learns what happened meanwhile. */
  readonly thaw: (process: ExclusiveProgress) => void;
  /** From now on `keep` fails with this error, as when nothing can be reached; undefined heals it. */
  readonly failKeep: (error: Error | undefined) => void;
}

interface Member {
  frozen: boolean;
  onThaw: (() => void)[];
}

interface Waiting {
  readonly member: Member;
  readonly begin: (turn: Turn) => void;
}

interface Active {
  readonly member: Member;
  readonly end: () => void;
}

export function createMemoryExclusiveProgress(): MemoryExclusiveProgress {
  const members = new Map<ExclusiveProgress, Member>();
  const history: string[] = [];
  const line: Waiting[] = [];
  let active: Active | undefined;
  let keepFails: Error | undefined;

  const next = (): void => {
    const index = line.findIndex(({ member }) => !member.frozen);
    const [waiting] = index < 0 ? [] : line.splice(index, 1);
    if (waiting === undefined) return;
    const over = new AbortController();
    const mine: Active = { member: waiting.member, end: () => over.abort(new FencedError()) };
    active = mine;
    waiting.begin({
      progress: history.at(-1) ?? null,
      ended: over.signal,
      keep: async (progress) => {
        await awake(waiting.member);
        if (active !== mine) throw new FencedError();
        if (keepFails !== undefined) throw keepFails;
        history.push(progress);
      },
      release: async () => {
        await awake(waiting.member);
        if (active === mine) passOn();
      },
    });
  };
  const passOn = (): void => {
    const before = active;
    active = undefined;
    if (before !== undefined) tell(before);
    next();
  };
  const take = (member: Member, signal: AbortSignal): Promise<Turn> =>
    new Promise((resolve, reject) => {
      const leave = (): void => {
        line.splice(line.indexOf(waiting), 1);
        reject(toError(signal.reason));
      };
      const waiting: Waiting = {
        member,
        begin: (turn) => {
          signal.removeEventListener('abort', leave);
          resolve(turn);
        },
      };
      if (signal.aborted) {
        reject(toError(signal.reason));
        return;
      }
      signal.addEventListener('abort', leave, { once: true });
      line.push(waiting);
      if (active === undefined) next();
    });
  return {
    open: () => {
      const member: Member = { frozen: false, onThaw: [] };
      const process: ExclusiveProgress = { take: (signal) => take(member, signal) };
      members.set(process, member);
      return process;
    },
    kept: () => history.at(-1) ?? null,
    history,
    depose: passOn,
    freeze: (process) => {
      const member = members.get(process);
      if (member === undefined) return;
      member.frozen = true;
      if (active?.member === member) passOn();
    },
    thaw: (process) => {
      const member = members.get(process);
      if (member === undefined) return;
      member.frozen = false;
      for (const go of member.onThaw.splice(0)) go();
      if (active === undefined) next();
    },
    failKeep: (error) => {
      keepFails = error;
    },
  };
}

function tell({ member, end }: Active): void {
  if (member.frozen) member.onThaw.push(end);
  else end();
}

function awake(member: Member): Promise<void> {
  return new Promise((resolve) => {
    if (member.frozen) member.onThaw.push(resolve);
    else resolve();
  });
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
