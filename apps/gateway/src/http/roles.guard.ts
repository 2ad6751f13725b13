import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { isFrontEnd } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import { ProblemError } from '@countersign/shell';
import type { GatewayPorts } from '../ports.js';
import { mayUse, templateOf } from '../route.js';
import type { Route } from '../route.js';
import { isOpenRead } from './admit.js';
import { routeOf } from './endpoint.js';
import type { ApiRequest } from './http-context.js';

function neededFor(route: Route | undefined, actor: Actor): string {
  if (route === undefined) return 'this route is not open to any role';
  if (actor.vouchedBy !== undefined) return notForPeople;
  const needed = `this needs the role ${route.roles === 'public' ? '' : route.roles.join(' or ')}`;
  return isFrontEnd(actor) && route.forPeople === true ? `${needed}: ${namePerson}` : needed;
}

const namePerson = 'name the person in the header Countersign-Person';

const notForPeople =
  'a person of a front end lists, reads, answers, withdraws and reveals. For anything else send another token, without Countersign-Person';

/** Deny by default: a handler outside the route table serves no request, and a route requires one of its roles. */
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
      request.endSpan = this.#startSpan(route, request);
    }
    if (route?.roles === 'public') return true;
    if (this.#isOpened(route, request)) return true;
    if (actor === undefined) throw new ProblemError('unauthenticated', 'this needs a bearer token');
    if (route !== undefined && mayUse(route, actor)) return true;
    this.#ports.log.warn(
      { principal: actor.principal, tenant: actor.tenant, route: route?.id },
      'refused: role missing',
    );
    this.#ports.metrics.refusedAtTheDoor('forbidden');
    throw new ProblemError('forbidden', neededFor(route, actor));
  }

  #isOpened(route: Route | undefined, request: ApiRequest): boolean {
    return route?.mayBeOpen === true && isOpenRead(this.#ports, request);
  }

  /** Only the API's requests: a stream has no end, and probes would dominate the figures. */
  #startSpan(route: Route, { params, headers, actor }: ApiRequest): ApiRequest['endSpan'] {
    const { tracing } = this.#ports;
    if (tracing === undefined || route.stream !== undefined || route.roles === 'public') return undefined;
    const ids = params as Readonly<Record<string, string>>;
    const { traceparent } = headers;
    return tracing.requestStarted({
      method: route.method,
      route: templateOf(route),
      traceparent,
      ids,
      tenant: actor?.tenant,
    });
  }
}
