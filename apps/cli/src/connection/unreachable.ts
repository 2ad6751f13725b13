import type { CliError } from '../cli-error.js';
import { localError } from '../cli-error.js';
import { isLocal } from './connection.js';

const causes: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused: nothing listens there',
  ENOTFOUND: 'no such host name',
  EAI_AGAIN: 'the host name cannot be looked up now',
  ECONNRESET: 'the connection broke',
  UND_ERR_SOCKET: 'the connection broke',
  EPIPE: 'the connection broke',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ETIMEDOUT: 'no answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'no answer in time',
  UND_ERR_HEADERS_TIMEOUT: 'no answer in time',
  UND_ERR_BODY_TIMEOUT: 'no answer in time',
  TimeoutError: 'no answer in time',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed; set NODE_EXTRA_CA_CERTS',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not trusted; set NODE_EXTRA_CA_CERTS',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not trusted; set NODE_EXTRA_CA_CERTS',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
};

const neverArrived = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/** A failed request as an error with cause and remedy. `changes`: the request may have been carried out all the same. */
export function unreachableError(url: string, error: unknown, changes: boolean): CliError {
  const code = codeOf(error);
  const cause =
    causes[code] ?? (error instanceof Error ? `${error.message}${code === '' ? '' : `, ${code}`}` : String(error));
  const broke = causes[code] === 'the connection broke';
  const maybe = changes && !neverArrived.has(code);
  return localError(
    'unreachable',
    broke ? 'connection-lost' : 'unreachable',
    `The server at ${url} cannot be reached: ${cause}.`,
    maybe
      ? 'The request may have arrived all the same: look with `countersign show` or `countersign list`.'
      : remedyFor(url),
  );
}

function remedyFor(url: string): string {
  return isLocal(new URL(url))
    ? 'Start one with `countersign start`, or name another with --url or COUNTERSIGN_URL.'
    : 'Check the address (--url, COUNTERSIGN_URL) and the network.';
}

/** The code of the innermost cause, since fetch wraps the socket's error. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const inner = codeOf(error.cause);
  if (inner !== '') return inner;
  const aggregated = error instanceof AggregateError ? codeOf(error.errors[0]) : '';
  if (aggregated !== '') return aggregated;
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code === 'string') return code;
  return error.name === 'TimeoutError' ? error.name : '';
}
