import { RequestMapping, RequestMethod } from '@nestjs/common';
import type { Route } from '../route.js';

const routeOfHandler = new WeakMap<object, Route>();

const methods = { GET: RequestMethod.GET, POST: RequestMethod.POST, DELETE: RequestMethod.DELETE } as const;

/** Binds a controller's method to a route of the table: its method and path, and the roles that the guard asks for. */
export function Endpoint(route: Route): MethodDecorator {
  return (target, name, descriptor) => {
    if (typeof descriptor.value === 'function') routeOfHandler.set(descriptor.value, route);
    RequestMapping({ path: route.path, method: methods[route.method] })(target, name, descriptor);
  };
}

/** Names the route that a method of another package's controller serves. */
export function serveAs(route: Route, controller: { readonly prototype: object }, method: string): void {
  const handler: unknown = Object.getOwnPropertyDescriptor(controller.prototype, method)?.value;
  if (typeof handler === 'function') routeOfHandler.set(handler, route);
}

/** The route that a handler serves. */
export function routeOf(handler: object): Route | undefined {
  return routeOfHandler.get(handler);
}
