import 'reflect-metadata';
import type { Log } from '@countersign/runtime';
import type { SubscriptionStatus } from '@countersign/message-bus';
import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { BusTransportStrategy } from './bus-transport.strategy.js';
import type { BusTransportOptions } from './bus-transport.strategy.js';
import { createNestLogger } from './http/nest-logger.js';

/** A module with `@EventPattern` handlers, and the bus that they hear. */
export interface BusAppOptions extends BusTransportOptions {
  readonly module: DynamicModule;
  readonly log: Log;
}

/** A Nest microservice on a message bus. */
export interface BusApp {
  /** Starts to consume messages. */
  readonly listen: () => Promise<void>;
  /** The state of its subscription; undefined before `listen`. */
  readonly status: () => SubscriptionStatus | undefined;
  /** Stops consuming and waits for the running handlers. The bus stays open. */
  readonly close: () => Promise<void>;
}

/** The consumer of a process: the same handlers on the embedded bus and on Kafka. */
export async function createBusApp({ module, log, ...transport }: BusAppOptions): Promise<BusApp> {
  const strategy = new BusTransportStrategy(transport);
  const options: object = { strategy, logger: createNestLogger(log), abortOnError: false };
  const app = await NestFactory.createMicroservice(module, options);
  return {
    listen: () => app.listen(),
    status: () => strategy.subscription?.status(),
    close: () => app.close(),
  };
}
