import type { EventType, EventView } from '@countersign/contracts';
import { parseEventMessage } from '@countersign/message-bus';
import type { MessageBus, SubscribeOptions, Subscription } from '@countersign/message-bus';
import { sleep } from '@countersign/runtime';
import type { Clock, Ids, Log } from '@countersign/runtime';
import { claimCall } from './claim-call.js';
import type { ClaimResult, OwnCall } from './claim-call.js';
import { execute } from './execution.js';
import type { ClaimedCall } from './execution.js';
import { ExecutionsUnavailableError } from './executions.js';
import type { ExecutableCall, Executions } from './executions.js';
import type { ResolverMetrics } from './metrics.js';
import { retryUntilAnswered } from './retry.js';
import { Semaphore } from './semaphore.js';
import type { ToolSet } from './tools/tool.js';

export interface ResolverOptions {
  readonly executions: Executions;
  readonly tools: ToolSet;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Names this process in its claims. */
  readonly resolverId: string;
  /** How many tools run at once. Default 8. */
  readonly concurrency?: number;
  /** Default 60,000; renewed while the tool runs. */
  readonly leaseMs?: number;
  /** How long `stop` waits for running tools. Default 20,000. */
  readonly drainMs?: number;
  readonly metrics?: ResolverMetrics;
}

/** Executes the calls of the service's own tools. */
export interface Resolver {
  /**
   * Looks at an event and claims the calls that may be executed here after it; their tools then run on their own.
   * Resolves once they are claimed or are not ours to execute, so that an event whose handling has ended is never needed
   * again, and waits while all places are taken. An event is a hint: what counts is what the ledger answers.
   * @throws when there was no answer, or the signal aborted: the event is needed again.
   */
  readonly handle: (event: EventView, signal?: AbortSignal) => Promise<void>;
  /** Handles the events of a topic. Without tools there is nothing to consume: undefined. */
  readonly consume: (bus: MessageBus, options: ConsumeOptions) => Subscription | undefined;
  readonly status: () => { readonly running: number; readonly waiting: number };
  /** Claims no more, waits for the running tools, then leaves those that still run to their leases. */
  readonly stop: () => Promise<void>;
}

export interface ConsumeOptions {
  /** The topic of the recorded events. */
  readonly topic: string;
  /** Default `resolver`. */
  readonly group?: string;
}

/** The events after which a call may be claimable. */
export const resolverEventTypes = [
  'ToolCallAllowed',
  'ApprovalResponded',
  'ToolCallCommitted',
  'ExecutionLapsed',
  'ExecutionReconciled',
] as const satisfies readonly EventType[];

/** The resolver takes no more calls: the next process does. */
export class ResolverStoppedError extends Error {
  override readonly name = 'ResolverStoppedError';
}

/** Whether `handle` failed for a reason that is not the event's: it is to be given again, and never parked. */
export const isTransientFailure: NonNullable<SubscribeOptions['isTransient']> = (error) =>
  error instanceof ExecutionsUnavailableError || error instanceof ResolverStoppedError;

function mayBeClaimable({ type, data }: EventView): boolean {
  switch (type as (typeof resolverEventTypes)[number]) {
    case 'ToolCallAllowed':
    case 'ToolCallCommitted':
    case 'ExecutionLapsed':
      return true;
    case 'ApprovalResponded':
      return data['resolution'] === 'approved';
    case 'ExecutionReconciled':
      return data['status'] === 'retry';
    default:
      return false;
  }
}

/**
 * Attack: whoever may write to the events topic says that a person has approved. What the relay published is in the log
 * before it is on the topic, so what the log does not know is nobody's copy.
 */
function isContradicted({ type, data }: EventView, call: ExecutableCall | undefined): boolean {
  return type === 'ApprovalResponded' && call?.granted.some((approvalId) => approvalId === data['approvalId']) !== true;
}

class CallResolver implements Resolver {
  readonly #options: ResolverOptions;
  readonly #semaphore: Semaphore;
  readonly #executing = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  readonly #ending = new AbortController();

  constructor(options: ResolverOptions) {
    this.#options = options;
    this.#semaphore = new Semaphore(options.concurrency ?? 8);
  }

  readonly handle = async (event: EventView, given?: AbortSignal): Promise<void> => {
    const { callId, tenant } = event;
    if (callId === null || !mayBeClaimable(event) || !this.#serves(tenant)) return;
    const signal = given === undefined ? this.#stopping.signal : AbortSignal.any([given, this.#stopping.signal]);
    const call = await this.#find(tenant, callId, signal);
    this.#tellForgery(event, call);
    if (call === undefined) return;
    if ((await this.#resolve({ tenant, callId, call }, signal)) === 'batch-incomplete') return;
    // The last yes of an all-or-nothing batch frees the others, whose own events were in vain; also when this member is
    // no longer claimable, since a process may have ended between two claims.
    for (const sibling of call.siblings) {
      const found = await this.#find(tenant, sibling, signal);
      if (found === undefined) continue;
      if ((await this.#resolve({ tenant, callId: sibling, call: found }, signal)) === 'batch-incomplete') return;
    }
  };

  readonly consume = (bus: MessageBus, { topic, group = 'resolver' }: ConsumeOptions): Subscription | undefined => {
    if (this.#options.tools.tools.length === 0) return undefined;
    return bus.subscribe({
      group,
      topics: [topic],
      types: resolverEventTypes,
      isTransient: isTransientFailure,
      onMessage: (message, { signal }) => this.handle(parseEventMessage(message), signal),
    });
  };

  readonly status = (): { running: number; waiting: number } => {
    return { running: this.#semaphore.taken, waiting: this.#semaphore.waiting };
  };

  readonly stop = async (): Promise<void> => {
    const { clock, drainMs = 20_000 } = this.#options;
    this.#stopping.abort(new ResolverStoppedError('the resolver stops'));
    const drained = Promise.all(this.#executing);
    const waited = new AbortController();
    await Promise.race([drained, sleep(clock, drainMs, waited.signal)]);
    this.#ending.abort(new ResolverStoppedError('the resolver has stopped'));
    // What heeds its signal ends now; what does not is cut off by the end of the process.
    await Promise.race([drained, sleep(clock, 1_000, waited.signal)]);
    waited.abort();
  };

  #serves(tenant: string): boolean {
    return this.#options.tools.tools.some((tool) => tool.tenant === tenant);
  }

  /** Nothing runs because of it: the claim asks the log. Somebody must hear of it all the same. */
  #tellForgery(event: EventView, call: ExecutableCall | undefined): void {
    if (!isContradicted(event, call)) return;
    const { log, metrics } = this.#options;
    const { eventId, type, callId } = event;
    metrics?.forged(type);
    log.error({ eventId, type, callId }, 'an approval that the log does not know stands on the events topic');
  }

  #find(tenant: string, callId: string, signal: AbortSignal): Promise<ExecutableCall | undefined> {
    const { executions } = this.#options;
    return retryUntilAnswered(() => executions.find(tenant, callId), { ...this.#options, signal });
  }

  /** Claims a call if it is ours to execute, and begins; otherwise says why not. */
  async #resolve({ tenant, callId, call }: FoundCall, signal: AbortSignal): Promise<string> {
    const tool = call.claimable ? this.#options.tools.find(tenant, call.toolName) : undefined;
    if (tool === undefined) return 'not-ours';
    const own: OwnCall = { tenant, callId, tool, idempotent: tool.idempotent && call.idempotent };
    const giveBack = await this.#semaphore.take(signal);
    const result = await claimCall(own, { ...this.#options, signal, ending: this.#ending.signal }).catch(
      (error: unknown): ClaimResult => ({ status: 'failed', error }),
    );
    if (result.status === 'claimed') {
      this.#begin(result.call, giveBack);
      return 'claimed';
    }
    giveBack();
    if (result.status === 'failed') throw result.error;
    return result.code;
  }

  /** From here on nothing waits for the tool but its place. */
  #begin(call: ClaimedCall, giveBack: () => void): void {
    const executing = execute(call, { ...this.#options, ending: this.#ending.signal }).finally(() => {
      giveBack();
      this.#executing.delete(executing);
    });
    this.#executing.add(executing);
  }
}

interface FoundCall {
  readonly tenant: string;
  readonly callId: string;
  readonly call: ExecutableCall;
}

/**
 * A resolver over its ports. It consumes nothing by itself: `consume` a bus, or give it events.
 * @example
 * const resolver = createResolver({ executions, tools: await loadTools(file, process.env), clock, ids, log, resolverId });
 * resolver.consume(bus, { topic: topicNames().events });
 */
export function createResolver(options: ResolverOptions): Resolver {
  return new CallResolver(options);
}
