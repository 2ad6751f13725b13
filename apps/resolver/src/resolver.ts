import { UnreadableStreamError } from '@countersign/commands';
import type { EventType, HeldCalls, LogEventView } from '@countersign/contracts';
import { PoisonMessageError } from '@countersign/message-bus';
import type { SubscribeOptions } from '@countersign/message-bus';
import { sleep } from '@countersign/runtime';
import type { Clock, Ids, Log } from '@countersign/runtime';
import type { Tracing } from '@countersign/shell';
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
  /** How many tools run at once. Default: 8. */
  readonly concurrency?: number;
  /** Default 60,000; renewed while the tool runs. */
  readonly leaseMs?: number;
  /** How long `stop` waits for running tools, in ms. Default: 20,000. */
  readonly drainMs?: number;
  readonly metrics?: ResolverMetrics;
  /** Makes a span of each execution. */
  readonly tracing?: Pick<Tracing, 'inSpan'> | undefined;
}

/** Executes the calls of the service's own tools. */
export interface Resolver {
  /**
   * Handles an event and claims the calls that can now be executed here; their tools run in the background. Resolves
   * once each is claimed or is not for this resolver, so the event is not needed again. Waits while all places are
   * taken. An event is a hint: the ledger's response decides. So is one that the relay could not read.
   * @throws PoisonMessageError (`unreadable`) when this version cannot read what decides about the call: a later one can.
   * @throws when the ledger did not respond, or the signal aborted: the event is needed again.
   */
  readonly handle: (event: LogEventView, signal?: AbortSignal) => Promise<void>;
  readonly status: () => { readonly running: number; readonly waiting: number };
  /** Claims no more, waits for the running tools, then leaves the rest to their leases. */
  readonly stop: () => Promise<void>;
}

/** The events after which a call may be claimable. */
export const resolverEventTypes = [
  'ToolCallAllowed',
  'ApprovalResponded',
  'ToolCallCommitted',
  'ExecutionLapsed',
  'ExecutionReconciled',
  'StopLifted',
] as const satisfies readonly EventType[];

/** The resolver accepts no more calls. The next process does. */
export class ResolverStoppedError extends Error {
  override readonly name = 'ResolverStoppedError';
}

/** Returns whether `handle` failed for a reason outside the event: the event is delivered again and never parked. */
export const isTransientFailure: NonNullable<SubscribeOptions['isTransient']> = (error) =>
  error instanceof ExecutionsUnavailableError || error instanceof ResolverStoppedError;

function mayBeClaimable({ type, data }: LogEventView): boolean {
  // Where the relay could not read the event, the call itself is read.
  if (data === null) return true;
  switch (type as (typeof resolverEventTypes)[number]) {
    case 'ToolCallAllowed':
    case 'ToolCallCommitted':
    case 'ExecutionLapsed':
      return true;
    case 'ApprovalResponded':
      return data['resolution'] === 'approved';
    case 'ExecutionReconciled':
      return data['status'] === 'retry';
    case 'StopLifted':
      return false;
    default:
      return false;
  }
}

/**
 * Attack: a producer writes to the events topic that a person has approved. Events are in the log before the relay
 * publishes them, so an event that the log does not have is forged.
 */
function isContradicted({ type, data }: LogEventView, call: ExecutableCall | undefined): boolean {
  if (data === null) return false;
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

  readonly handle = async (event: LogEventView, given?: AbortSignal): Promise<void> => {
    const { callId, tenant } = event;
    const signal = given === undefined ? this.#stopping.signal : AbortSignal.any([given, this.#stopping.signal]);
    if (event.type === 'StopLifted') return this.#release(event, signal);
    if (callId === null || !mayBeClaimable(event) || !this.#serves(tenant)) return;
    const call = await this.#find(tenant, callId, signal);
    this.#tellForgery(event, call);
    if (call === undefined) return;
    const found = { tenant, callId, call };
    let result = await this.#resolve(found, signal);
    if (result === 'stopped') {
      // This process may not know yet that the stop was lifted, and no other event tells of the call.
      await sleep(this.#options.clock, knownWithinMs, signal);
      result = await this.#resolve(found, signal);
    }
    if (result !== 'batch-incomplete') await this.#resolveSiblings(found, signal);
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
    // A tool that respects its signal ends now. The end of the process stops the others.
    await Promise.race([drained, sleep(clock, 1_000, waited.signal)]);
    waited.abort();
  };

  async #resolveSiblings(
    { tenant, call }: FoundCall,
    signal: AbortSignal,
    except?: ReadonlySet<string>,
  ): Promise<void> {
    // The last approval of an all-or-nothing batch releases the other members, whose own events had no effect. That
    // also holds when this member is no longer claimable, since a process may have crashed between two claims.
    for (const sibling of call.siblings) {
      if (except?.has(sibling) === true) continue;
      const found = await this.#find(tenant, sibling, signal);
      if (found === undefined) continue;
      if ((await this.#resolve({ tenant, callId: sibling, call: found }, signal)) === 'batch-incomplete') return;
    }
  }

  /** The calls that a stop held back: their own events had no effect while it was in force. */
  async #release({ tenant, data }: LogEventView, signal: AbortSignal): Promise<void> {
    const { callIds = [], otherTenants = [] } = (data ?? {}) as Partial<Pick<HeldCalls, 'callIds'> & Others>;
    const held = [{ tenant, callIds }, ...otherTenants]
      .filter((of) => this.#serves(of.tenant))
      .flatMap((of) => of.callIds.map((callId) => ({ tenant: of.tenant, callId })));
    const early = await this.#resolveEach(held, signal);
    if (early.length === 0) return;
    // Another stop holds them, or this process does not know yet that this one was lifted.
    await sleep(this.#options.clock, knownWithinMs, signal);
    await this.#resolveEach(early, signal);
  }

  /** Returns the calls that a stop holds back. */
  async #resolveEach(calls: readonly HeldCall[], signal: AbortSignal): Promise<readonly HeldCall[]> {
    const stopped: HeldCall[] = [];
    const known = new Set(calls.map(({ callId }) => callId));
    for (const held of calls) {
      const call = await this.#find(held.tenant, held.callId, signal);
      if (call === undefined) continue;
      const found = { ...held, call };
      const result = await this.#resolve(found, signal);
      if (result === 'stopped') stopped.push(held);
      // A sibling that the stop does not cover was refused all the same.
      else if (result !== 'batch-incomplete') await this.#resolveSiblings(found, signal, known);
    }
    return stopped;
  }

  #serves(tenant: string): boolean {
    return this.#options.tools.tools.some((tool) => tool.tenant === tenant);
  }

  /** It causes no execution, because the claim reads the log. It is still reported. */
  #tellForgery(event: LogEventView, call: ExecutableCall | undefined): void {
    if (!isContradicted(event, call)) return;
    const { log, metrics } = this.#options;
    const { eventId, type, callId } = event;
    metrics?.forged(type);
    const remedy = 'nothing ran because of it: look at who may write the events topic';
    log.error({ eventId, type, callId, remedy }, 'the events topic has an approval that is not in the log');
  }

  #find(tenant: string, callId: string, signal: AbortSignal): Promise<ExecutableCall | undefined> {
    const { executions } = this.#options;
    return retryUntilAnswered(() => executions.find(tenant, callId).catch(parked), { ...this.#options, signal });
  }

  /** Claims a call if this resolver executes it, and begins; otherwise returns the reason. */
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
    if (result.code === 'unreadable') throw new PoisonMessageError('unreadable', `${callId}: ${notRead}`);
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

const notRead =
  'what decides about the call cannot be read: replay this message when a version that can read it executes the tools';

/** A call that cannot be read is not dropped: its message waits among the dead letters for a version that can. */
function parked(error: unknown): never {
  throw error instanceof UnreadableStreamError
    ? new PoisonMessageError('unreadable', `${error.message}; ${notRead}`)
    : error;
}

/** Within this time each process knows that a stop was lifted. */
const knownWithinMs = 1000;

interface Others {
  readonly otherTenants: readonly HeldCalls[];
}

interface HeldCall {
  readonly tenant: string;
  readonly callId: string;
}

interface FoundCall extends HeldCall {
  readonly call: ExecutableCall;
}

/**
 * A resolver over its ports. It consumes nothing by itself: `createResolverApp` gives it the events of a bus.
 * @example
 * const resolver = createResolver({ executions, tools: await loadTools(file, process.env), clock, ids, log, resolverId });
 * const app = await createResolverApp({ resolver, bus, topic: topicNames().events, log });
 * await app.listen();
 */
export function createResolver(options: ResolverOptions): Resolver {
  return new CallResolver(options);
}
