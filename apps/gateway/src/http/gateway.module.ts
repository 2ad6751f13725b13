import { Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { OperationsController, operationsPorts } from '@countersign/shell';
import { routes } from '../routes.js';
import { ApprovalsController } from './approvals.controller.js';
import { AuditController } from './audit.controller.js';
import { CheckpointsController } from './checkpoints.controller.js';
import { serveAs } from './endpoint.js';
import { ExecutionsController } from './executions.controller.js';
import { GrantsController } from './grants.controller.js';
import type { HttpContext } from './http-context.js';
import { httpContextToken } from './http-context-token.js';
import { MeController } from './me.controller.js';
import { OpenApiController } from './openapi.controller.js';
import { OversightController } from './oversight.controller.js';
import { PasskeysController } from './passkeys.controller.js';
import { PeopleController } from './people.controller.js';
import { PolicyController } from './policy.controller.js';
import { ProblemsController } from './problems.controller.js';
import { ReceiptsController } from './receipts.controller.js';
import { StreamsController } from './streams.controller.js';
import { StopsController } from './stops.controller.js';
import { SubjectsController } from './subjects.controller.js';
import { TilesController } from './tiles.controller.js';
import { ToolCallsController } from './tool-calls.controller.js';

/** The Nest module of the gateway: the controllers, over a gateway that is built outside. */
@Module({})
export class GatewayModule {
  static over(http: HttpContext): DynamicModule {
    for (const name of ['healthz', 'readyz', 'metrics'] as const) serveAs(routes[name], OperationsController, name);
    return {
      module: GatewayModule,
      controllers: [
        ToolCallsController,
        ApprovalsController,
        GrantsController,
        ExecutionsController,
        ReceiptsController,
        PolicyController,
        OversightController,
        StreamsController,
        AuditController,
        CheckpointsController,
        TilesController,
        StopsController,
        SubjectsController,
        MeController,
        PasskeysController,
        PeopleController,
        OpenApiController,
        ProblemsController,
        OperationsController,
      ],
      providers: [
        { provide: httpContextToken, useValue: http },
        { provide: operationsPorts, useValue: http.gateway },
      ],
    };
  }
}
