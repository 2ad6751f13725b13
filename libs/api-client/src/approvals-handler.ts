import type { FrontEnd, FrontEndPerson } from './front-end.js';
import { isId } from './front-end.js';
import { bodyOf, isOfOwnPage } from './page-request.js';

/** The application that the browser's requests go through. */
export interface ApprovalsHandlerOptions {
  readonly frontEnd: Pick<FrontEnd, 'forward'>;
  /** The signed-in person of a request, from the session of your application; null: nobody is signed in. */
  readonly person: (request: Request) => FrontEndPerson | null | Promise<FrontEndPerson | null>;
  /** Origins of your pages, such as `https://desk.example`. Default: the one of the handler. Name it for old browsers behind a proxy. */
  readonly origins?: readonly string[] | undefined;
}

/** What the components of `@countersign/react` ask for, and nothing else. */
const routes = [
  ['GET', /^\/v1\/me$/],
  ['GET', /^\/v1\/approvals$/],
  ['GET', /^\/v1\/approvals\/[\w-]{1,200}$/],
  ['POST', /^\/v1\/approvals\/[\w-]{1,200}\/responses$/],
  ['DELETE', /^\/v1\/approvals\/[\w-]{1,200}\/responses\/mine$/],
  ['POST', /^\/v1\/approvals\/[\w-]{1,200}\/reveal$/],
  ['GET', /^\/v1\/tool-calls\/[\w-]{1,200}$/],
] as const;

/** The parts of a query that such a request has. */
const queries = new Set([
  'agentId',
  'cursor',
  'limit',
  'mine',
  'order',
  'preview',
  'response',
  'runId',
  'sort',
  'state',
  'toolCallId',
  'toolName',
]);

const passedOn = ['content-type', 'retry-after'];
const bodyBytesMax = 1024 * 1024;

/**
 * Returns a handler of the browser's requests, to mount under a path of your application. It sends each request to Countersign in
 * the name of the signed-in person, with the token of the front end, which never reaches the browser.
 *
 * It serves the routes that the components of `@countersign/react` need, refuses writes that do not come from your own pages,
 * takes nothing from the headers of the browser, and lets nothing be cached.
 *
 * @example
 * const handler = approvalsHandler({ frontEnd, person: (request) => userOfSession(request) });
 * export { handler as GET, handler as POST, handler as DELETE };
 */
export function approvalsHandler({
  frontEnd,
  person,
  origins,
}: ApprovalsHandlerOptions): (request: Request) => Promise<Response> {
  const answer = async (request: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(request.url);
    const path = pathname.slice(Math.max(0, pathname.indexOf('/v1/')));
    const route = routes.find(([method, form]) => method === request.method && form.test(path));
    if (route === undefined) return refusal(404, 'not-found', 'This path is not served here.');
    if (!isOfOwnPage(request, origins))
      return refusal(403, 'forbidden', 'This request is not from a page of this application.');
    const [method] = route;
    const body = method === 'POST' ? await bodyOf(request, bodyBytesMax) : undefined;
    if (body === null) {
      return refusal(
        415,
        'unsupported-media-type',
        'Send JSON of at most 1 MiB, with the content type application/json.',
      );
    }
    // Code without types may give undefined.
    const who = (await person(request)) ?? null;
    if (who === null) return refusal(401, 'unauthenticated', 'Sign in to this application.');
    if (!isId(who.id)) return refusal(500, 'unavailable', 'This application did not say who is signed in.');
    const query = new URLSearchParams([...searchParams].filter(([name]) => queries.has(name)));
    const response = await frontEnd.forward(who, { method, path, query, body, signal: request.signal });
    return response.status === 401 ? misconfigured() : passOn(response);
  };
  return (request) => answer(request).catch(() => refusal(502, 'unreachable', 'Countersign did not respond.'));
}

/** The token is refused: that is not the fault of the person, who is signed in. */
function misconfigured(): Response {
  return refusal(
    502,
    'unreachable',
    'Countersign does not know this application. Its operator has to look at the token.',
  );
}

/** Attack: a header of another server sets a cookie or opens the answer to other origins. Only two are passed on. */
function passOn({ status, body, headers }: Response): Response {
  const kept = passedOn.flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  return new Response(body, { status, headers: { ...Object.fromEntries(kept), ...neverKept } });
}

const neverKept = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

function refusal(status: number, code: string, detail: string): Response {
  const problem = { type: 'about:blank', title: code, status, code, detail };
  const headers = { 'content-type': 'application/problem+json', ...neverKept };
  return new Response(JSON.stringify(problem), { status, headers });
}
