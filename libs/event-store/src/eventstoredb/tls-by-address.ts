import { credentials } from '@grpc/grpc-js';

/** The internals of gRPC's TLS credentials that are replaced here. */
interface Internals {
  _createSecureConnector: (...given: unknown[]) => Connector;
}

interface Connector {
  readonly connectionOptions: { servername?: string };
}

/** No host name has this form. */
const ipAddress = /^[\d.]+$|:/;
let isAllowed = false;

/**
 * Lets gRPC connect over TLS to a server that is named by its IP address, for every client of this process. gRPC passes the
 * address as the server name of TLS, and Node 26 throws for that. Without a server name Node verifies the
 * certificate against the same address, which is also in `host`.
 */
export function allowTlsByAddress(): void {
  if (isAllowed) return;
  isAllowed = true;
  const shared = Object.getPrototypeOf(credentials.createSsl()) as Internals;
  const create = shared._createSecureConnector;
  shared._createSecureConnector = function createByAddress(this: unknown, ...given) {
    const connector = create.apply(this, given);
    const { connectionOptions } = connector;
    if (ipAddress.test(connectionOptions.servername ?? '')) delete connectionOptions.servername;
    return connector;
  };
}
