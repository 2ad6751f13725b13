import type { Actor } from '@countersign/commands';
import type { ClaimView } from '@countersign/contracts';
import { EventStoreUnavailableError, OutcomeUnknownError } from '@countersign/event-store';
import type { Gateway } from '@countersign/gateway';
import { ProblemError } from '@countersign/shell';
import type { RunningGateway } from '../roles/gateway.ts';
import { hasLeft } from '../world/absences.ts';
import type { Site, Slot } from '../world/cluster.ts';

/** The response of the API. */
export type Reply = Awaited<ReturnType<Gateway['approvals']['respond']>>;

/** One request from outside. A retry of it has the same key. */
export interface ApiRequest {
  /** The command's name, such as `respond`. */
  readonly kind: string;
  readonly actor: Actor;
  /** Method and path. */
  readonly target: string;
  readonly key: string;
  readonly body: unknown;
  readonly run: (gateway: Gateway, context: { readonly actor: Actor; readonly commandId: string }) => Promise<Reply>;
}

/** A response that reached its client. */
export interface Acknowledged {
  readonly request: ApiRequest;
  readonly commandId: string;
  readonly reply: Reply;
  /** The time of the first try, by the world's clock. */
  readonly sentAtMs: number;
}

/** The APIs of the installation, and a record of their responses. */
export interface Doors {
  /** Sends a request to any gateway, and retries elsewhere until the response is final; undefined after `triesMax`. */
  readonly ask: (request: ApiRequest, triesMax?: number) => Promise<Reply | undefined>;
  /** Reads from any gateway; undefined when none responds now. */
  readonly read: <T>(look: (gateway: Gateway) => T | Promise<T>) => Promise<T | undefined>;
  readonly onAcknowledged: (listener: (acknowledged: Acknowledged) => void) => void;
}

const patienceMs = 15_000;
const lost = Symbol('no answer');

/** The doors of these gateways. A person without the role of an approver gets no further: this guard is not simulated. */
export function openDoors(
  { world, departure, claims }: Pick<Site, 'world' | 'departure' | 'claims'>,
  gateways: readonly Slot<RunningGateway>[],
): Doors {
  const { random } = world;
  const listeners: ((acknowledged: Acknowledged) => void)[] = [];

  /** One request to one gateway and back. It may get lost in either direction, and the gateway may crash. */
  const once = async <T>(work: (running: RunningGateway) => T | Promise<T>): Promise<T | typeof lost> => {
    const running = random.pick(gateways).running();
    await world.travel();
    if (running === undefined || random.chance(world.hazards().httpLost)) return lost;
    await running.machine.enter();
    // The end of the world comes between two steps.
    if (!running.machine.isAlive()) return lost;
    const answer = await work(running);
    await running.machine.enter();
    await world.travel();
    return random.chance(world.hazards().httpLost) ? lost : answer;
  };
  const patiently = <T>(work: Promise<T>): Promise<T | typeof lost> =>
    Promise.race([work, world.wait(patienceMs).then((): typeof lost => lost)]);

  const answer = async (
    { gateway, machine }: RunningGateway,
    request: ApiRequest,
    sentAtMs: number,
  ): Promise<Acknowledged | undefined> => {
    const { actor, target, key, body, run } = request;
    let used = '';
    try {
      const reply = await gateway.idempotency.answer(
        { actor, target, key, bytes: Buffer.from(JSON.stringify(body)) },
        (commandId) => {
          used = commandId;
          return run(gateway, { actor, commandId });
        },
      );
      if (request.kind === 'claim' && reply.status === 200) {
        for (const listener of claims) listener(reply.body as ClaimView, machine.name);
      }
      return reply.status >= 500 ? undefined : { request, commandId: used, reply, sentAtMs };
    } catch (error) {
      // Actions of a killed process have no effect.
      if (machine.isAlive() && !isOutage(error)) {
        world.fail(
          'every-request-ends',
          `${request.kind} threw ${error instanceof Error ? (error.stack ?? '') : String(error)}`,
        );
      }
      return undefined;
    }
  };
  return {
    ask: async (request, triesMax = Infinity) => {
      const sentAtMs = world.clock.now();
      for (let tries = 1; tries <= triesMax; tries += 1) {
        if (hasLeft(departure, request.actor.principal, world.clock.now())) return undefined;
        const found = await patiently(once((running) => answer(running, request, sentAtMs)));
        if (found !== lost && found !== undefined) {
          const { status, code } = found.reply;
          world.trace.add(request.actor.principal, `${request.kind} ${request.target}: ${status} ${code ?? ''}`);
          for (const listener of listeners) listener(found);
          return found.reply;
        }
        await world.wait(100 + random.below(1_000));
      }
      return undefined;
    },
    read: async (look) => {
      const found = await patiently(once(({ gateway }) => look(gateway)));
      return found === lost ? undefined : found;
    },
    onAcknowledged: (listener) => void listeners.push(listener),
  };
}

/** The 503 of the API: only the surroundings fail. */
function isOutage(error: unknown): boolean {
  if (error instanceof EventStoreUnavailableError || error instanceof OutcomeUnknownError) return true;
  return error instanceof ProblemError && error.refusal.code === 'unavailable';
}
