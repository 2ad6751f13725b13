import { PoisonMessageError } from '@countersign/message-bus';
import type { Delivery, Message, MessageBus, SubscribeOptions, Subscription } from '@countersign/message-bus';
import { Catch } from '@nestjs/common';
import type { RpcExceptionFilter } from '@nestjs/common';
import { BaseRpcContext, RpcException, Server } from '@nestjs/microservices';
import type { CustomTransportStrategy, MessageHandler } from '@nestjs/microservices';
import { isObservable, lastValueFrom, throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import type { SpanOptions, Tracing } from './tracing/tracing.js';

/** The metadata of a message for its handler: `@Ctx() context: BusContext`. */
export class BusContext extends BaseRpcContext<[message: Message, delivery: Delivery]> {
  getMessage(): Message {
    return this.args[0];
  }

  getDelivery(): Delivery {
    return this.args[1];
  }
}

/**
 * Passes a handler's error to the strategy. Without it Nest replaces the error with "Internal server error", and
 * neither a `PoisonMessageError` nor a transient error is recognised. For every controller on the bus:
 * `@UseFilters(BusExceptionFilter)`.
 */
@Catch()
export class BusExceptionFilter implements RpcExceptionFilter<unknown, never> {
  catch(exception: unknown): Observable<never> {
    return throwError(() => exception);
  }
}

/** The pattern of the handler for messages of every other type, and for those that name none. */
const anyType = '*';

/** How the handlers of an application are served. */
export interface BusTransportOptions extends Omit<SubscribeOptions, 'types' | 'onMessage'> {
  readonly bus: MessageBus;
  /** The data that handlers get out of a message. Default: its value as JSON; what is not JSON is parked. */
  readonly parse?: (message: Message) => unknown;
  /** Required when one application has several strategies: the `transport` that its `@EventPattern`s name. */
  readonly transportId?: symbol;
  /** Makes a span of each handled message that belongs to a trace. */
  readonly tracing?: Pick<Tracing, 'inSpan'> | undefined;
}

/**
 * Runs `@EventPattern('<event type>')` handlers on a message bus: the pattern is the header `ce_type`. A handler that
 * fails is tried again and then its message is parked; nothing is acknowledged before all handlers of its pattern have
 * ended well. Types without a handler go to `@EventPattern('*')`, and without that are passed over.
 * @example
 * app.connectMicroservice({ strategy: new BusTransportStrategy({ bus, group: 'notifiers', topics: [events] }) });
 */
export class BusTransportStrategy extends Server implements CustomTransportStrategy {
  override readonly propagatesEventHandlerErrors = true;
  readonly #options: BusTransportOptions;
  #subscription: Subscription | undefined;

  constructor(options: BusTransportOptions) {
    super();
    this.#options = options;
    if (options.transportId !== undefined) this.transportId = options.transportId;
  }

  /** Undefined before `listen`, and when there is no handler to listen for. */
  get subscription(): Subscription | undefined {
    return this.#subscription;
  }

  listen(callback: (error?: unknown) => void): void {
    try {
      this.#subscription = this.#subscribe();
      callback();
    } catch (error) {
      callback(error);
    }
  }

  /** Waits for the running handlers. The bus stays open: it belongs to its creator. */
  async close(): Promise<void> {
    await this.#subscription?.stop();
  }

  on(event: string): never {
    throw new Error(`there is no event "${event}": ask for the status of the subscription`);
  }

  unwrap(): never {
    throw new Error('the bus belongs to its creator: use the one that was passed to the strategy');
  }

  #subscribe(): Subscription | undefined {
    const { bus, parse: _parse, transportId: _transportId, tracing: _tracing, ...consumer } = this.#options;
    for (const [pattern, { isEventHandler }] of this.messageHandlers) {
      // A request-response pattern would wait for a response that a bus cannot give.
      if (isEventHandler !== true) throw new Error(`"${pattern}" is a @MessagePattern: the bus has events only`);
    }
    const types = [...this.messageHandlers.keys()];
    if (types.length === 0) return undefined;
    const onMessage = (message: Message, delivery: Delivery): Promise<void> => this.#traced(message, delivery);
    return bus.subscribe({ ...consumer, ...(types.includes(anyType) ? {} : { types }), onMessage });
  }

  #traced(message: Message, delivery: Delivery): Promise<void> {
    const { tracing, group, bus } = this.#options;
    if (tracing === undefined || message.headers['traceparent'] === undefined) return this.#handle(message, delivery);
    return tracing.inSpan(spanOf(message, group, bus.system), () => this.#handle(message, delivery));
  }

  async #handle(message: Message, delivery: Delivery): Promise<void> {
    const handler = this.messageHandlers.get(message.headers['ce_type'] ?? '') ?? this.messageHandlers.get(anyType);
    if (handler === undefined) return;
    const data = (this.#options.parse ?? parseJson)(message);
    const context = new BusContext([message, delivery]);
    await new Promise<void>((resolve, reject) => {
      this.runWithProcessingHooks(context, async (end) => {
        await runToTheEnd(handler, data, context).then(resolve, (error: unknown) => {
          reject(toError(error));
        });
        end();
      });
    });
  }
}

/** The span of a handled message, as OpenTelemetry's conventions for messaging name it. */
function spanOf({ topic, headers }: Message, group: string, system: MessageBus['system']): SpanOptions {
  const attributes = {
    'messaging.system': system,
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
    'messaging.destination.name': topic,
    'messaging.consumer.group.name': group,
    'messaging.message.id': headers['ce_id'],
  };
  return { name: `process ${topic}`, kind: 'consumer', attributes, parent: headers['traceparent'] };
}

/** A handler may return a stream, and has ended only when the stream has. */
async function runToTheEnd(handler: MessageHandler, data: unknown, context: BusContext): Promise<void> {
  const result: unknown = await handler(data, context);
  if (isObservable(result)) await lastValueFrom(result, { defaultValue: undefined });
}

function parseJson(message: Message): unknown {
  try {
    return JSON.parse(Buffer.from(message.value).toString());
  } catch {
    throw new PoisonMessageError('malformed', 'the value is not JSON');
  }
}

/** Without the filter, Nest turns the error into `{ status, message }`. */
function toError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  const named = typeof thrown === 'object' && thrown !== null && 'message' in thrown;
  return new RpcException(String(named ? thrown.message : thrown));
}
