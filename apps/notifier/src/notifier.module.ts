import type { EventView } from '@countersign/contracts';
import { BusContext, BusExceptionFilter } from '@countersign/shell';
import { Controller, Inject, Module, UseFilters } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { Ctx, EventPattern, Payload } from '@nestjs/microservices';
import type { Notifier } from './notifier-port.js';
import { notifierEventTypes } from './wanted-messages.js';

const notifierPort = Symbol('Notifier');
const channelIdPort = Symbol('channelId');

/** Hands the events of the bus to the notifier, for one channel. */
@Controller()
@UseFilters(BusExceptionFilter)
export class NotifierController {
  readonly #notifier: Notifier;
  readonly #channelId: string;

  constructor(@Inject(notifierPort) notifier: Notifier, @Inject(channelIdPort) channelId: string) {
    this.#notifier = notifier;
    this.#channelId = channelId;
  }

  @EventPattern([...notifierEventTypes])
  handle(@Payload() event: EventView, @Ctx() context: BusContext): Promise<void> {
    return this.#notifier.handle(this.#channelId, event, context.getDelivery().signal);
  }
}

/** One channel of the notifier as part of a Nest application. `createNotifierApp` serves one per channel. */
@Module({})
export class NotifierModule {
  static of(notifier: Notifier, channelId: string): DynamicModule {
    return {
      module: NotifierModule,
      controllers: [NotifierController],
      providers: [
        { provide: notifierPort, useValue: notifier },
        { provide: channelIdPort, useValue: channelId },
      ],
    };
  }
}
