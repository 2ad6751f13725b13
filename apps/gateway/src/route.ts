import type { ErrorCode } from '@countersign/contracts';
import { roles } from '@countersign/commands';
import type { Actor, Role } from '@countersign/commands';
import type { FieldError } from '@countersign/contracts';
import type { z } from 'zod';

/** Every role of the tenant may, except two: `tool`, the server of a tool, asks about receipts alone, and `stopper` stops calls alone. */
export const anyRole = roles.filter((role) => role !== 'tool' && role !== 'stopper');

/** The definition of one route. */
export interface Route<Body extends z.ZodType = z.ZodType, Query extends z.ZodObject = z.ZodObject> {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Parameters as `:name`; `*` at the end: all that follows. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  /** One of these roles is required; `public`: no token is required. */
  readonly roles: readonly Role[] | 'public';
  /** A person of a front end may use it. */
  readonly forPeople?: true;
  /** The operator can open it to requests without a token. */
  readonly mayBeOpen?: true;
  readonly body?: Body;
  /** The body may be a form too, `application/x-www-form-urlencoded`. */
  readonly form?: true;
  /** An absent body counts as `{}`. */
  readonly isBodyOptional?: boolean;
  /** Returns the parts of a body that are too large, by path. Runs before validation. */
  readonly oversize?: (body: unknown, bodyBytes: number) => readonly FieldError[];
  /** A POST that records nothing: it has a body because a query is too short for it. */
  readonly isRead?: true;
  readonly query?: Query;
  /** The response schemas by status, or the content type of a stream. */
  readonly answers?: Readonly<Partial<Record<200 | 201 | 202, z.ZodType>>>;
  /** The answer comes as CSV instead, if the query says so. */
  readonly hasCsv?: true;
  readonly stream?:
    | 'text/event-stream'
    | 'application/x-ndjson'
    | 'application/json'
    | 'text/plain'
    | 'application/octet-stream'
    | 'application/timestamp-reply';
  /** The content types that the query can ask for instead. */
  readonly files?: readonly string[];
  /** `Link` and `Countersign-Position` lead to the next page. */
  readonly isPaged?: true;
  /** What the stream is, where its content type does not say it. */
  readonly streamed?: { readonly description: string; readonly example: string };
  /** A POST without an `Idempotency-Key`: a repeat gets the newest answer. */
  readonly ignoresKey?: true;
  /** The codes that belong to this route; those of every route are added by the document. */
  readonly codes: readonly ErrorCode[];
}

/** A route, with the types of its body and query. */
export function defineRoute<Body extends z.ZodType, Query extends z.ZodObject>(
  route: Route<Body, Query>,
): Route<Body, Query> {
  return route;
}

/** The path of a route as OpenAPI and tracers write it. */
export function templateOf({ path }: Route): string {
  return path.replaceAll(/:([A-Za-z]+)/g, '{$1}').replace('*', '{tile}');
}

/** Returns whether a route only reads, with a body. */
export function isReadByPost({ method, isRead }: Route): boolean {
  return method === 'POST' && isRead === true;
}

/** Returns whether the actor has a role that the route requires. A person of a front end has few routes. */
export function mayUse(route: Route, actor: Actor): boolean {
  if (actor.vouchedBy !== undefined && route.forPeople !== true) return false;
  return route.roles !== 'public' && route.roles.some((role) => actor.roles.has(role));
}

/** Returns the methods of a path; undefined for an unknown path. A path that is written out comes before one with parameters. */
export function createMethodsOf(routes: readonly Route[]): (path: string) => readonly string[] | undefined {
  const byPath = [...Map.groupBy(routes, ({ path }) => path)]
    .map(([path, all]) => ({
      methods: all.map(({ method }) => method),
      pattern: new RegExp(
        `^${path
          .replaceAll('.', '\\.')
          .replaceAll(/:[A-Za-z]+/g, '[^/]+')
          .replace('*', '.+')}$`,
      ),
      parameters: path.split(':').length,
    }))
    .toSorted((a, b) => a.parameters - b.parameters);
  return (path) => byPath.find(({ pattern }) => pattern.test(path))?.methods;
}
