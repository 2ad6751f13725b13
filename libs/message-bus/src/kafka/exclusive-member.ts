import type { Consumer, Kafka } from 'kafkajs';
import { atMost } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import { FencedError } from '../exclusive-progress.js';
import type { Turn } from '../exclusive-progress.js';
import { refusalOf, toBusError } from './bus-errors.js';
import { withAdmin } from './kafka-client.js';
import { farewellMsMax } from './farewell.js';
import { oneOwnerAssigner } from './one-owner-assigner.js';

export interface ExclusiveMemberOptions {
  readonly kafka: Kafka;
  readonly group: string;
  readonly topic: string;
  readonly sessionTimeoutMs: number;
  readonly clock: Clock;
  readonly log: Log;
  /** It is a candidate, or the leader. */
  readonly onJoined?: () => void;
}

/** The partition whose owner is the active process, and whose committed offset carries the progress. */
const partition = 0;
const idleMs = 250;

/** The broker's errors for a member that it has removed. */
const fencing = new Set(['ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID', 'FENCED_INSTANCE_ID']);

/** One member of the group, from its candidacy to the end of its term. */
export class ExclusiveMember {
  readonly #options: ExclusiveMemberOptions;
  readonly #consumer: Consumer;
  readonly #ended = new AbortController();
  /** Settled while the group is stable; pending during a rebalance. */
  #formed = Promise.withResolvers<undefined>();
  #memberId: string | undefined;
  #ownerSince: number | null = null;
  #hasTurn = false;
  #joins = 0;
  #commits = 0;
  #keeping: Promise<void> = Promise.resolve();
  #leaving: Promise<void> | undefined;

  constructor(options: ExclusiveMemberOptions) {
    const { kafka, group, sessionTimeoutMs } = options;
    this.#options = options;
    this.#consumer = kafka.consumer({
      groupId: group,
      allowAutoTopicCreation: false,
      sessionTimeout: sessionTimeoutMs,
      rebalanceTimeout: sessionTimeoutMs,
      heartbeatInterval: Math.min(1_000, Math.floor(sessionTimeoutMs / 4)),
      maxWaitTimeInMs: idleMs,
      // The client MUST NOT retry a refused commit: after a rejoin, as a new member of a new generation, the broker
      // would accept it from a process that was replaced long ago.
      retry: { retries: 0, restartOnFailure: () => Promise.resolve(false) },
      partitionAssigners: [oneOwnerAssigner({ since: () => this.#ownerSince, onClaim: () => this.#forming() })],
    });
  }

  /** Resolves with the turn. @throws what ended the member, or the signal's reason; then call `leave` */
  async take(signal: AbortSignal): Promise<Turn> {
    const { topic } = this.#options;
    const turn = Promise.withResolvers<Turn>();
    // It may be rejected before it has a listener.
    turn.promise.catch(() => undefined);
    const abandon = (): void => turn.reject(signal.reason);
    signal.addEventListener('abort', abandon, { once: true });
    this.#listen(turn);
    try {
      await this.#consumer.connect();
      await this.#consumer.subscribe({ topic, fromBeginning: true });
      await this.#consumer.run({ autoCommit: false, eachBatch: () => Promise.resolve() });
      return await turn.promise;
    } finally {
      signal.removeEventListener('abort', abandon);
    }
  }

  /** Ends the term and leaves the group, so that another member follows at once. */
  leave(): Promise<void> {
    this.#end();
    const { clock, log } = this.#options;
    const gone = (): Promise<void> =>
      this.#consumer.disconnect().catch((error: unknown) => {
        log.debug({ error }, 'the member did not leave its group cleanly');
      });
    return (this.#leaving ??= atMost(clock, farewellMsMax, gone()));
  }

  #listen(turn: PromiseWithResolvers<Turn>): void {
    const { events } = this.#consumer;
    const { topic } = this.#options;
    this.#consumer.on(events.GROUP_JOIN, ({ payload }) => {
      // Nothing is read: the messages belong to others.
      this.#consumer.pause([{ topic }]);
      this.#joins += 1;
      this.#options.onJoined?.();
      const owns = payload.memberAssignment[topic]?.includes(partition) === true;
      // A new member id means that the group had removed this process in between, also when it owns the partition again.
      const isContinued = payload.memberId === this.#memberId;
      this.#memberId = payload.memberId;
      if (this.#hasTurn && !(owns && isContinued)) this.#end();
      this.#ownerSince = owns ? (this.#ownerSince ?? this.#options.clock.now()) : null;
      this.#formed.resolve(undefined);
      if (owns && !this.#hasTurn) this.#begin(this.#joins).then(turn.resolve, turn.reject);
    });
    this.#consumer.on(events.COMMIT_OFFSETS, () => {
      this.#commits += 1;
    });
    this.#consumer.on(events.CRASH, ({ payload }) => {
      turn.reject(payload.error);
      this.#end();
    });
  }

  #forming(): void {
    this.#formed.resolve(undefined);
    this.#formed = Promise.withResolvers();
  }

  #end(): void {
    if (this.#isOver()) return;
    this.#ended.abort(new FencedError());
    this.#ownerSince = null;
    // Waiters for the rebalance learn that the member has ended.
    this.#formed.resolve(undefined);
    if (this.#hasTurn) void this.leave();
  }

  async #begin(join: number): Promise<Turn> {
    const { kafka, group, topic } = this.#options;
    const offsets = await withAdmin(kafka, (admin) => admin.fetchOffsets({ groupId: group, topics: [topic] }));
    // A newer rebalance decides.
    if (join !== this.#joins) return new Promise<Turn>(() => undefined);
    const kept = offsets[0]?.partitions.find((each) => each.partition === partition)?.metadata;
    this.#hasTurn = true;
    return {
      progress: kept === undefined || kept === null || kept === '' ? null : kept,
      ended: this.#ended.signal,
      keep: (progress) => {
        // In order: each caller must know whether its own commit succeeded.
        const kept = this.#keeping.then(() => this.#keep(progress));
        this.#keeping = kept.catch(() => undefined);
        return kept;
      },
      release: () => this.leave(),
    };
  }

  async #keep(progress: string): Promise<void> {
    const { topic } = this.#options;
    for (;;) {
      await this.#formed.promise;
      if (this.#isOver()) throw new FencedError();
      const [joins, commits] = [this.#joins, this.#commits];
      try {
        await this.#consumer.commitOffsets([{ topic, partition, offset: '0', metadata: progress }]);
        if (this.#hasCommittedSince(commits)) return;
        // The client reports nothing when it has ended meanwhile.
        throw new Error('the member has ended');
      } catch (error) {
        const refusal = refusalOf(error);
        if (this.#isOver() || (refusal !== undefined && fencing.has(refusal))) throw this.#fenced(error);
        if (refusal !== 'REBALANCE_IN_PROGRESS') throw toBusError(error, 'the progress was not kept');
        await this.#nextForming(joins);
      }
    }
  }

  #isOver(): boolean {
    return this.#ended.signal.aborted;
  }

  #hasCommittedSince(commits: number): boolean {
    return this.#commits > commits;
  }

  #fenced(cause: unknown): FencedError {
    this.#end();
    return Object.assign(new FencedError(), { cause });
  }

  /** The group rebalances, and this member has not been told yet. */
  async #nextForming(joins: number): Promise<void> {
    const { clock } = this.#options;
    while (joins === this.#joins && !this.#isOver()) {
      await new Promise<void>((resolve) => void clock.setTimer(50, resolve));
    }
  }
}
