import createClient, { type Client } from 'openapi-fetch';
import type { components, paths } from './api.js';

/** Every operation of the HTTP API, by method and path. A refusal is the value `error`; nothing is retried. */
export type ApiClient = Client<paths>;

/** The types of the OpenAPI document, by their names there, such as `ApiSchemas['Approval']`. */
export type ApiSchemas = components['schemas'];

export interface ApiClientOptions {
  /** The address of Countersign, such as `http://127.0.0.1:7400`. */
  readonly url: string;
  /** A bearer token. Its roles decide which operations it may use. */
  readonly token: string;
  /** In place of the global `fetch`, for example with a proxy or a time limit. */
  readonly fetch?: ((request: Request) => Promise<Response>) | undefined;
}

/**
 * Creates a client of the HTTP API. Its methods reject only when no response arrived.
 *
 * @example
 * const { data, error } = await createApiClient({ url, token }).GET('/v1/approvals', {
 *   params: { query: { state: 'pending' } },
 * });
 */
export function createApiClient({ url, token, fetch }: ApiClientOptions): ApiClient {
  return createClient<paths>({
    baseUrl: url,
    headers: { authorization: `Bearer ${token}` },
    ...(fetch === undefined ? {} : { fetch }),
  });
}
