import type { ConnectClient } from './client.js';

/** Loads each vendor's client, by the scheme that it serves: a file is loaded only when it is used. */
const loaders = {
  esdb: async (): Promise<ConnectClient> => (await import('./db-client.js')).connectDbClient,
  kurrentdb: async (): Promise<ConnectClient> => (await import('./kurrentdb-client.js')).connectKurrentDb,
};
type Scheme = keyof typeof loaders;

const remedy =
  'kurrentdb:// needs the optional package @kurrent/kurrentdb-client with its native bridge for this platform. ' +
  'Install it without --omit=optional, or use esdb://';

/** Both clients register their generated messages under the same global names. This one is already loaded. */
let inUse: Scheme | undefined;

/**
 * Returns the client that serves the scheme of a connection string: `esdb://` and `esdb+discover://` by
 * `@eventstore/db-client`, `kurrentdb://` and `kurrentdb+discover://` by `@kurrent/kurrentdb-client`.
 * @throws RangeError for another scheme, for a client that is not installed, and when this process has loaded the other
 * client. The error does not repeat the connection string.
 * @example openEventStoreDb({ url, connect: await connectOf(url), log, clock });
 */
export async function connectOf(url: string): Promise<ConnectClient> {
  const scheme = schemeOf(url);
  if (inUse !== undefined && inUse !== scheme) {
    throw new RangeError(`a process can use one client of the event store: ${inUse}:// is in use here`);
  }
  inUse = scheme;
  try {
    return await loaders[scheme]();
  } catch (error) {
    inUse = undefined;
    if (scheme === 'esdb') throw error;
    throw new RangeError(remedy, { cause: error });
  }
}

function schemeOf(url: string): Scheme {
  const [, name = ''] = /^(esdb|kurrentdb)(?:\+discover)?:\/\//i.exec(url) ?? [];
  const scheme = name.toLowerCase();
  if (scheme === 'esdb' || scheme === 'kurrentdb') return scheme;
  throw new RangeError(
    'the connection string of the event store must begin with esdb://, esdb+discover://, kurrentdb:// or kurrentdb+discover://',
  );
}
