import { fetchUnencoded } from '@countersign/http-client';
import createClient, { type Client } from 'openapi-fetch';
import type { components, paths } from './api.js';

/**
 * Every operation of the HTTP API, by method and path. A refusal is the value `error`, a problem document with a `code`;
 * a response of another server, such as a proxy, has the code `http-<status>`. Nothing is retried.
 */
export type ApiClient = Client<paths>;

/** The types of the OpenAPI document, by their names there, such as `ApiSchemas['Approval']`. */
export type ApiSchemas = components['schemas'];

export interface ApiClientOptions {
  /** The address of Countersign, such as `http://127.0.0.1:7400`. */
  readonly url: string;
  /** A bearer token. Its roles decide which operations it may use. */
  readonly token: string;
  /** Default: a `fetch` that refuses compressed responses before they are decoded. */
  readonly fetch?: ((request: Request) => Promise<Response>) | undefined;
}

/**
 * Creates a client of the HTTP API. Its methods reject when no response arrived, or a 2xx one that is not JSON.
 *
 * @example
 * const { data, error } = await createApiClient({ url, token }).GET('/v1/approvals', {
 *   params: { query: { state: 'pending' } },
 * });
 */
export function createApiClient({ url, token, fetch = fetchUnencoded }: ApiClientOptions): ApiClient {
  const client = createClient<paths>({
    baseUrl: url,
    querySerializer: { array: { style: 'form', explode: false }, object: { style: 'form', explode: true } },
    headers: { authorization: `Bearer ${token}` },
    fetch,
  });
  client.use({ onResponse: ({ response }) => (response.status < 400 ? undefined : withProblem(response)) });
  return client;
}

/** A proxy in front of Countersign responds with a page, or with nothing. */
async function withProblem(response: Response): Promise<Response> {
  const { status, statusText, headers } = response;
  if (
    hasCode(
      await response
        .clone()
        .json()
        .catch(() => null),
    )
  )
    return response;
  const detail = `the response has the status ${String(status)} and is not Countersign's`;
  const problem = { type: 'about:blank', title: statusText, status, code: `http-${String(status)}`, detail };
  const copied = new Headers(headers);
  for (const name of ['content-length', 'content-encoding']) copied.delete(name);
  copied.set('content-type', 'application/problem+json');
  return new Response(JSON.stringify(problem), { status, statusText, headers: copied });
}

function hasCode(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'code' in body && typeof body.code === 'string';
}
