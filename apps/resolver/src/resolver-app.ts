import { parseLogEventMessage } from '@countersign/message-bus';
import type { MessageBus } from '@countersign/message-bus';
import { createBusApp } from '@countersign/shell';
import type { BusApp, BusAppOptions } from '@countersign/shell';
import type { Log } from '@countersign/runtime';
import { isTransientFailure } from './resolver.js';
import type { Resolver } from './resolver.js';
import { ResolverModule } from './resolver.module.js';

/** The dependencies of the resolver's consumer. */
export interface ResolverAppOptions {
  readonly resolver: Resolver;
  readonly bus: MessageBus;
  /** The topic of the recorded events. */
  readonly topic: string;
  readonly log: Log;
  readonly tracing?: BusAppOptions['tracing'];
}

/** The resolver on its bus. Its `close` also waits for the running tools. */
export type ResolverApp = BusApp;

/** The resolver as a Nest microservice: its `@EventPattern` handlers run on every bus. */
export async function createResolverApp({
  resolver,
  bus,
  topic,
  log,
  tracing,
}: ResolverAppOptions): Promise<ResolverApp> {
  const app = await createBusApp({
    module: ResolverModule.of(resolver),
    log,
    bus,
    tracing,
    group: 'resolver',
    topics: [topic],
    parse: parseLogEventMessage,
    takesUnreadable: true,
    isTransient: isTransientFailure,
  });
  return {
    ...app,
    close: async () => {
      await app.close();
      await resolver.stop();
    },
  };
}
