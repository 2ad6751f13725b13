import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { ProblemError } from '@countersign/shell';
import type { GatewayPorts } from '../ports.js';
import { mayUse } from '../route.js';
import { routeOf } from './endpoint.js';
import type { ApiRequest } from './exchange.js';

/** Deny by default: a handler that is no route of the table serves nobody, and a route asks for one of its roles. */
export class RolesGuard implements CanActivate {
  readonly #ports: GatewayPorts;

  constructor(ports: GatewayPorts) {
    this.#ports = ports;
  }

  canActivate(context: ExecutionContext): boolean {
    const route = routeOf(context.getHandler());
    const request = context.switchToHttp().getRequest<ApiRequest>();
    const { actor } = request;
    if (route !== undefined) {
      request.routeId = route.id;
      request.endSpan = this.#ports.tracing?.requestStarted(route.id, request.headers.traceparent);
    }
    if (route?.roles === 'public') return true;
    if (actor === undefined) throw new ProblemError('unauthenticated', 'this needs a bearer token');
    if (route !== undefined && mayUse(route, actor)) return true;
    const needed = route === undefined ? 'nobody may' : `this needs the role ${route.roles.join(' or ')}`;
    this.#ports.log.warn(
      { principal: actor.principal, tenant: actor.tenant, route: route?.id },
      'refused: role missing',
    );
    this.#ports.metrics.refusedAtTheDoor('forbidden');
    throw new ProblemError('forbidden', needed);
  }
}
