import { BusContext, BusExceptionFilter } from '@countersign/shell';
import { Controller, Inject, Module, UseFilters } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { Ctx, EventPattern } from '@nestjs/microservices';
import type { Ledger } from './ledger.js';

const ledgerPort = Symbol('Ledger');

/** Hands all messages of the requests topic to the ledger, of any type: the ledger refuses unknown ones. */
@Controller()
@UseFilters(BusExceptionFilter)
export class LedgerController {
  readonly #ledger: Ledger;

  constructor(@Inject(ledgerPort) ledger: Ledger) {
    this.#ledger = ledger;
  }

  @EventPattern('*')
  handle(@Ctx() context: BusContext): Promise<void> {
    return this.#ledger.handle(context.getMessage(), context.getDelivery());
  }
}

/** The ledger as part of a Nest application; `createLedgerApp` serves it. */
@Module({})
export class LedgerModule {
  static of(ledger: Ledger): DynamicModule {
    return {
      module: LedgerModule,
      controllers: [LedgerController],
      providers: [{ provide: ledgerPort, useValue: ledger }],
    };
  }
}
