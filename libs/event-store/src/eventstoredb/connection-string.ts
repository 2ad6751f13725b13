import { optionProblem } from './connection-options.js';

/** A connection string as it may be written to a log: without user, password, and what else its options say. */
export function withoutSecrets(url: string): string {
  const [, scheme = '', rest = ''] = /^([a-z+]+:\/\/)?([^?]*)/i.exec(url) ?? [];
  // Up to the last @, because people forget to escape one in a password.
  return `${scheme}${rest.slice(rest.lastIndexOf('@') + 1)}`;
}

/** The address of a server. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** The parts of a connection string. */
export interface StoreAddress {
  readonly servers: readonly Endpoint[];
  /** Several servers, or a name to discover them: the leader is looked up before each connection. */
  readonly isCluster: boolean;
  /** The user's name; undefined: anonymous. */
  readonly user: string | undefined;
  /** Never printed; undefined: none is given. */
  readonly password: string | undefined;
  readonly isEncrypted: boolean;
  readonly option: (name: string) => string | undefined;
  /** The connection string of one server, with the same user and options. */
  readonly of: (server: Endpoint) => string;
}

const defaultPort = 2113;
const portMax = 65_535;

/**
 * Reads `esdb://user:password@host1:2113,host2:2113?option=value`, and the same with `+discover`.
 * @throws RangeError when it is not of that form, or has an option that the vendors' clients do not know. The error
 * repeats neither user nor password.
 */
export function readConnectionString(url: string): StoreAddress {
  const parts = /^(esdb|kurrentdb)(\+discover)?:\/\/(?:([^/?]*)@)?([^@/?]+)\/?(?:\?(.*))?$/i.exec(url);
  if (parts === null)
    throw new RangeError('is not of the form esdb://user:password@host:port or kurrentdb://user:password@host:port');
  const [, scheme = '', discover, login, hosts = '', query = ''] = parts;
  const servers = hosts.split(',').map(endpointOf);
  const options = new URLSearchParams(query);
  const problem = optionProblem(options);
  if (problem !== undefined) throw new RangeError(problem);
  const option = (name: string): string | undefined =>
    [...options].find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
  return {
    servers,
    isCluster: discover !== undefined || servers.length > 1,
    ...userIn(login),
    isEncrypted: option('tls')?.toLowerCase() !== 'false',
    option,
    of: (server) => `${scheme}://${login === undefined ? '' : `${login}@`}${textOf(server)}?${query}`,
  };
}

function userIn(login: string | undefined): Pick<StoreAddress, 'user' | 'password'> {
  if (login === undefined) return { user: undefined, password: undefined };
  const [name = '', ...rest] = login.split(':');
  return { user: decoded(name), password: rest.length === 0 ? undefined : decoded(rest.join(':')) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new RangeError('has a user or password that is not URL-encoded: write % as %25');
  }
}

function endpointOf(text: string): Endpoint {
  const [, host = '', port = String(defaultPort)] = /^(\[[^\]]+\]|[^:]+)(?::(\d+))?$/.exec(text) ?? [];
  if (host === '' || Number(port) > portMax) throw new RangeError('names a server that is not of the form host:port');
  return { host, port: Number(port) };
}

export function textOf({ host, port }: Endpoint): string {
  return `${host}:${String(port)}`;
}

export function areSame(one: Endpoint | undefined, other: Endpoint | undefined): boolean {
  return one?.host === other?.host && one?.port === other?.port;
}
