import type { PolicyWitness, WitnessPolicy } from '@countersign/audit';
import { crashPoint, sleep } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import { createSender } from '../sinks/send.js';
import { askWitness } from './ask-witness.js';
import type { ProvingTree, WitnessAnswer } from './ask-witness.js';
import { originOf } from './cosigned.js';
import type { Cosigned } from './cosigned.js';

/** What witnesses are told of, and what their answers lead to. */
export interface WitnessedLog {
  readonly tenants: () => readonly string[];
  /** The newest signed checkpoint; undefined: there is none, or the log contradicts what was signed. */
  readonly newest: (tenant: string) => string | undefined;
  readonly treeOf: (tenant: string) => ProvingTree | undefined;
  /** Reads the log again, and learns what other notaries signed, once its store no longer lags behind. */
  readonly reread: () => Promise<unknown>;
  /** The log of a tenant contradicts what a witness has seen. */
  readonly rewind: (found: { readonly tenant: string; readonly why: string }) => void;
}

/** The dependencies of the witnesses. */
export interface WitnessesPorts {
  readonly policy: WitnessPolicy;
  readonly allowPrivateNetwork: boolean;
  readonly cosigned: Cosigned;
  readonly source: WitnessedLog;
  /** Whether this notary signs. Another one asks otherwise. */
  readonly isActive: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** The state of a witness. */
export interface WitnessState {
  readonly name: string;
  /** Why it did not cosign the newest checkpoints; undefined: it did. */
  readonly problem: string | undefined;
  /** When it cosigned and when it failed last, in ms; undefined: not yet. */
  readonly succeededAtMs: number | undefined;
  readonly failedAtMs: number | undefined;
}

/** Asks all witnesses of a policy for cosignatures. */
export interface Witnesses {
  readonly start: () => void;
  readonly states: () => readonly WitnessState[];
  readonly stop: () => Promise<void>;
}

const lookMs = 500;
const retryMsFirst = 2_000;
const retryMsMax = 60_000;
const timeoutMs = 10_000;
const answerBytesMax = 64 * 1024;

/** Each witness has a loop of its own, so that one that is away holds up no other one. */
export function createWitnesses(ports: WitnessesPorts): Witnesses {
  const stopping = new AbortController();
  const sender = createSender({ ...ports, timeoutMs, answerBytesMax });
  const asking = ports.policy.witnesses
    .filter(({ url }) => url !== null)
    .map((witness) => createAsking(witness, sender, ports, stopping.signal));
  let running: Promise<unknown> = Promise.resolve();
  return {
    start: () => {
      running = Promise.all(asking.map(({ run }) => run()));
    },
    states: () => asking.map(({ state }) => state()),
    stop: async () => {
      stopping.abort();
      sender.close();
      await running;
    },
  };
}

function createAsking(
  witness: PolicyWitness,
  sender: ReturnType<typeof createSender>,
  { cosigned, source, isActive, clock, log }: WitnessesPorts,
  stopping: AbortSignal,
) {
  const { name } = witness;
  /** What it cosigned last, by tenant. Nothing at a start: each witness is asked then, and finds a log that was put back. */
  const done = new Map<string, { readonly note: string; readonly size: number }>();
  let problem: string | undefined;
  let succeededAtMs: number | undefined;
  let failedAtMs: number | undefined;

  const askOnce = async (tenant: string): Promise<WitnessAnswer | undefined> => {
    const note = cosigned.target(tenant);
    const tree = source.treeOf(tenant);
    if (note === undefined || tree === undefined || source.newest(tenant) === undefined) return undefined;
    if (done.get(tenant)?.note === note) return undefined;
    const answer = await askWitness(sender, witness, { note, tree, old: done.get(tenant)?.size ?? 0 });
    if (answer.status !== 'cosigned') return answer;
    crashPoint('notary.cosigned');
    cosigned.add(tenant, note, answer.cosignature);
    done.set(tenant, { note, size: answer.size });
    succeededAtMs = clock.now();
    return answer;
  };
  /** Whether a checkpoint is of the epoch in which the log is signed now. */
  const isOfNow = (tenant: string, note: string | undefined): boolean => {
    const now = source.newest(tenant);
    return now !== undefined && note !== undefined && originOf(note) === originOf(now);
  };
  /** Asks again after the log was read again. A contradiction that stays is a log that was rewound. */
  const askAgain = async (tenant: string): Promise<WitnessAnswer | undefined> => {
    await source.reread();
    const asked = cosigned.target(tenant);
    const answer = await askOnce(tenant);
    if (answer?.status === 'contradicted' && !stopping.aborted && isOfNow(tenant, asked)) {
      const why = `the witness ${name} contradicts the log of tenant "${tenant}": ${answer.why}`;
      source.rewind({ tenant, why });
    }
    return answer;
  };
  /** Returns why the witness did not cosign. */
  const ask = async (tenant: string): Promise<string | undefined> => {
    let answer = await askOnce(tenant);
    if (answer?.status === 'contradicted') {
      log.warn({ witness: name, tenant, why: answer.why }, 'a witness contradicts the log, which is read again');
      answer = await askAgain(tenant);
    }
    return answer?.status === 'contradicted' || answer?.status === 'refused' ? answer.why : undefined;
  };
  const end = (why: string | undefined): void => {
    const was = problem;
    problem = why;
    if (why !== undefined) failedAtMs = clock.now();
    if (was === why) return;
    if (why === undefined) log.info({ witness: name }, 'a witness cosigns again');
    else log.warn({ witness: name, why }, 'a witness did not cosign; it is asked again');
  };
  const askAll = async (): Promise<boolean> => {
    let failed: string | undefined;
    try {
      for (const tenant of source.tenants()) {
        if (stopping.aborted) return true;
        failed = (await ask(tenant)) ?? failed;
      }
    } catch (error) {
      failed = error instanceof Error ? error.message : String(error);
    }
    if (!stopping.aborted) end(failed);
    return failed === undefined;
  };
  return {
    run: async () => {
      let retryMs = retryMsFirst;
      while (!stopping.aborted) {
        const isFine = isActive() ? await askAll() : true;
        await sleep(clock, isFine ? lookMs : retryMs, stopping);
        retryMs = isFine ? retryMsFirst : Math.min(retryMs * 2, retryMsMax);
      }
    },
    state: (): WitnessState => ({ name, problem, succeededAtMs, failedAtMs }),
  };
}
