import { keyText } from '@countersign/domain';
import { sleep } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import { NotifierStoppedError } from './channel-worker.js';
import type { ChannelWorker } from './channel-worker.js';
import type { Job } from './planned-message.js';

const retryMs = 1_000;

export interface BacklogPorts {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** How long due jobs are gathered; 0: not at all. */
  readonly gatherMs: number;
  /** The number of jobs in one message. */
  readonly togetherMax: number;
}

/**
 * The jobs of one channel that became due. They are combined where the channel wants a digest, and given to its worker
 * one message at a time.
 */
export class Backlog {
  readonly #lane: ChannelWorker;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #signal: AbortSignal;
  readonly #gatherMs: number;
  readonly #togetherMax: number;
  /** Keyed by subject, so that a message that was planned twice is listed once. */
  #jobs = new Map<string, Job>();
  #pumping: Promise<void> | undefined;

  constructor(lane: ChannelWorker, ports: BacklogPorts) {
    this.#lane = lane;
    this.#clock = ports.clock;
    this.#log = ports.log;
    this.#signal = ports.signal;
    this.#gatherMs = ports.gatherMs;
    this.#togetherMax = ports.togetherMax;
  }

  get waiting(): number {
    return this.#jobs.size;
  }

  add(jobs: readonly Job[]): void {
    for (const job of jobs) this.#jobs.set(`${job.approvalId ?? job.callId}${keyText(job.key)}`, job);
    this.#pumping ??= this.#pump().finally(() => (this.#pumping = undefined));
  }

  async stop(): Promise<void> {
    await this.#pumping;
  }

  async #pump(): Promise<void> {
    while (this.#jobs.size > 0 && !this.#signal.aborted) {
      if (this.#gatherMs > 0) await sleep(this.#clock, this.#gatherMs, this.#signal);
      for (const jobs of this.#takeGroups()) await this.#give(jobs);
    }
  }

  /** All due jobs as messages: those for one person are combined, the others are sent one by one. */
  #takeGroups(): readonly (readonly Job[])[] {
    const taken = [...this.#jobs.values()];
    this.#jobs = new Map();
    if (this.#togetherMax === 1) return taken.map((job) => [job]);
    const groups = new Map<string, Job[]>();
    const full: Job[][] = [];
    for (const job of taken) {
      const recipient = job.key.recipient ?? '';
      const group = groups.get(recipient) ?? [];
      group.push(job);
      groups.set(recipient, group);
      if (group.length < this.#togetherMax) continue;
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
