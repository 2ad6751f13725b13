import type { LogEventView } from '@countersign/contracts';
import { BusContext, BusExceptionFilter } from '@countersign/shell';
import { Controller, Inject, Module, UseFilters } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { Ctx, EventPattern, Payload } from '@nestjs/microservices';
import { resolverEventTypes } from './resolver.js';
import type { Resolver } from './resolver.js';

const resolverPort = Symbol('Resolver');

/** Hands the events of the bus to the resolver. */
@Controller()
@UseFilters(BusExceptionFilter)
export class ResolverController {
  readonly #resolver: Resolver;

  constructor(@Inject(resolverPort) resolver: Resolver) {
    this.#resolver = resolver;
  }

  @EventPattern([...resolverEventTypes])
  handle(@Payload() event: LogEventView, @Ctx() context: BusContext): Promise<void> {
    return this.#resolver.handle(event, context.getDelivery().signal);
  }
}

/** The resolver as part of a Nest application; `createResolverApp` serves it. */
@Module({})
export class ResolverModule {
  static of(resolver: Resolver): DynamicModule {
    return {
      module: ResolverModule,
      controllers: [ResolverController],
      providers: [{ provide: resolverPort, useValue: resolver }],
    };
  }
}
