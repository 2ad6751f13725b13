import { fetchUnencoded } from '@countersign/http-client';
import { createApiClient } from './api-client.js';
import type { ApiClient, ApiClientOptions, ApiSchemas } from './api-client.js';

/** A person of a front end, in one request or in many. */
export interface FrontEndPerson {
  /** 1 to 256 characters. It never changes, and never becomes the id of another person. */
  readonly id: string;
  /** Groups that the token lists in `people.groups`. Default: none. */
  readonly groups?: readonly string[] | undefined;
  /** What the person is called. It is never compared. */
  readonly name?: string | undefined;
  /** How sure the front end is of the person, at most the `people.maxAssurance` of the token. Default: `low`. */
  readonly assurance?: 'low' | 'medium' | undefined;
}

/** An application that speaks for its own people. */
export interface FrontEnd {
  /** Returns a client whose requests are those of this person. Two people never share one. */
  readonly as: (person: FrontEndPerson) => PersonClient;
  /**
   * Returns a `fetch` whose requests are those of this person, for another client of the API, such as that of the worker SDK:
   * `createClient({ url, token, fetch: frontEnd.fetchAs(person) })`.
   */
  readonly fetchAs: (person: FrontEndPerson) => typeof fetch;
  /** Ends a person who has left: their votes on pending approvals no longer count. */
  readonly end: (id: string) => ReturnType<typeof endPerson>;
  /** Sends one request in the name of this person, and returns the response as it is. `approvalsHandler` uses it. */
  readonly forward: (person: FrontEndPerson, request: ForwardedRequest) => Promise<Response>;
  /** A client without a person. It reads what the principal of the token requested. */
  readonly api: ApiClient;
}

/** The client of one person. */
export interface PersonClient extends ApiClient {
  /** Reads an approval as a card for a bot of your own, with the response that each of its buttons stands for. */
  readonly card: (approvalId: string, format: ApiSchemas['CardFormat']) => ReturnType<typeof readCard>;
}

/** A request of the HTTP API. Its parts have been checked. */
export interface ForwardedRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly query: URLSearchParams;
  /** JSON; undefined and empty: none. */
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The principal of the token, which names its people. */
type Me = ApiSchemas['Me'];

/**
 * Creates the front end of a token with the role `front-end`. Keep the token on your server: whoever has it speaks for all its
 * people.
 *
 * @example
 * const kim = createFrontEnd({ url, token }).as({ id: 'kim', groups: ['support'] });
 * const { data } = await kim.GET('/v1/approvals', { params: { query: { mine: 'true' } } });
 */
export function createFrontEnd(options: ApiClientOptions): FrontEnd {
  const api = createApiClient(options);
  return {
    as: (person) => {
      const client = createApiClient({ ...options, fetch: fetchAs(options, person) });
      return Object.assign(client, {
        card: (approvalId: string, format: ApiSchemas['CardFormat']) => readCard(client, approvalId, format),
      });
    },
    fetchAs: (person) => fetchAs(options, person),
    end: (id) => endPerson(api, id),
    forward: (person, request) => forward(options, person, request),
    api,
  };
}

function fetchAs({ fetch = fetchUnencoded }: ApiClientOptions, person: FrontEndPerson): typeof globalThis.fetch {
  const headers = headersOf(person);
  return (input, init) => {
    const request = new Request(input, init);
    for (const [name, value] of headers) request.headers.set(name, value);
    return fetch(request);
  };
}

function readCard(client: ApiClient, approvalId: string, format: ApiSchemas['CardFormat']) {
  return client.GET('/v1/approvals/{approvalId}/card', { params: { path: { approvalId }, query: { format } } });
}

function forward(
  { url, token, fetch = fetchUnencoded }: ApiClientOptions,
  person: FrontEndPerson,
  { method, path, query, body = '', signal }: ForwardedRequest,
): Promise<Response> {
  const search = query.size === 0 ? '' : `?${query.toString()}`;
  const headers = new Headers({ authorization: `Bearer ${token}` });
  for (const [name, value] of headersOf(person)) headers.set(name, value);
  if (body !== '') headers.set('content-type', 'application/json');
  return fetch(
    new Request(url.replace(/\/$/, '') + path + search, {
      method,
      headers,
      redirect: 'error',
      ...(body !== '' && { body }),
      ...(signal !== undefined && { signal }),
    }),
  );
}

const withoutId = 'a person of a front end needs an id: a text that is not empty';

async function endPerson(api: ApiClient, id: string) {
  if (!isId(id)) throw new TypeError(withoutId);
  const { data, error, response } = await api.GET('/v1/me');
  if (error !== undefined) return { data: undefined, error, response };
  return api.DELETE('/v1/people/{person}', { params: { path: { person: personOf(data, id) } } });
}

/** Code without types may give none. */
export function isId(id: unknown): id is string {
  return typeof id === 'string' && id !== '';
}

function personOf({ principal }: Me, id: string): string {
  return `${principal}#${id}`;
}

/** @throws URIError for half of a surrogate pair, which no header can have. */
/** @throws TypeError for a person without an id: all of them would be one person, named "undefined". */
function headersOf({ id, groups = [], name, assurance }: FrontEndPerson): readonly (readonly [string, string])[] {
  if (!isId(id)) throw new TypeError(withoutId);
  const optional = [
    ['countersign-person-name', name && encodeURIComponent(name)],
    ['countersign-person-assurance', assurance],
  ] as const;
  return [
    ['countersign-person', encodeURIComponent(id)],
    ['countersign-person-groups', groups.map(encodeURIComponent).join(', ')],
    ...optional.flatMap(([header, value]) => (value === undefined ? [] : [[header, value] as const])),
  ];
}
