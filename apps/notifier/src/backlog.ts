import { sleep } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import { NotifierStoppedError } from './channel-worker.js';
import type { ChannelWorker } from './channel-worker.js';
import type { Job } from './planned-message.js';

/** The number of approvals in one email. */
const togetherMax = 50;
const retryMs = 1_000;

/**
 * The jobs of one channel that became due. They are combined where the channel wants a digest, and given to its worker
 * one message at a time.
 */
export class Backlog {
  readonly #lane: ChannelWorker;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #signal: AbortSignal;
  #jobs: Job[] = [];
  #pumping: Promise<void> | undefined;

  constructor(lane: ChannelWorker, ports: { readonly clock: Clock; readonly log: Log; readonly signal: AbortSignal }) {
    this.#lane = lane;
    this.#clock = ports.clock;
    this.#log = ports.log;
    this.#signal = ports.signal;
  }

  get waiting(): number {
    return this.#jobs.length;
  }

  add(jobs: readonly Job[]): void {
    for (const job of jobs) this.#jobs.push(job);
    this.#pumping ??= this.#pump().finally(() => (this.#pumping = undefined));
  }

  async stop(): Promise<void> {
    await this.#pumping;
  }

  async #pump(): Promise<void> {
    const { gatherMs } = this.#lane.channel;
    while (this.#jobs.length > 0 && !this.#signal.aborted) {
      if (gatherMs > 0) await sleep(this.#clock, gatherMs, this.#signal);
      for (const jobs of this.#takeGroups()) await this.#give(jobs);
    }
  }

  /** All due jobs as messages: those for one person are combined, the others are sent one by one. */
  #takeGroups(): readonly (readonly Job[])[] {
    const taken = this.#jobs;
    this.#jobs = [];
    if (this.#lane.channel.gatherMs === 0) return taken.map((job) => [job]);
    const groups = new Map<string, Job[]>();
    const full: Job[][] = [];
    for (const job of taken) {
      const recipient = job.key.recipient ?? '';
      const group = groups.get(recipient) ?? [];
      group.push(job);
      groups.set(recipient, group);
      if (group.length < togetherMax) continue;
      full.push(group);
      groups.delete(recipient);
    }
    return [...full, ...groups.values()];
  }

  async #give(jobs: readonly Job[]): Promise<void> {
    while (!this.#signal.aborted) {
      try {
        await this.#lane.sync(jobs, this.#signal);
        return;
      } catch (error) {
        if (error instanceof NotifierStoppedError) return;
        this.#log.warn({ error, channelId: this.#lane.channel.id }, 'due messages cannot be read now; retrying');
        await sleep(this.#clock, retryMs, this.#signal);
      }
    }
  }
}
