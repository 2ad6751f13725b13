import type { Actor } from '@countersign/commands';
import { ProblemError } from '@countersign/shell';
import type { FastifyRequest } from 'fastify';
import type { GatewayPorts } from '../ports.js';

const bearer = /^Bearer +([\x21-\x7e]+) *$/i;

/**
 * Who sends a request, by its bearer token.
 * @throws ProblemError `unauthenticated`; what was sent instead of a token is never told or logged.
 */
export function authenticate({ tokens, log, metrics }: GatewayPorts, request: FastifyRequest): Actor {
  const { authorization } = request.headers;
  const [, token] = authorization === undefined ? [] : (bearer.exec(authorization) ?? []);
  const via = request.headers['countersign-client'] === 'cli' ? 'cli' : 'api';
  const actor = token === undefined ? undefined : tokens.actorOf(token, via);
  if (actor !== undefined) return actor;
  const path = request.url.split('?', 1)[0];
  const why = authorization === undefined ? 'no token' : token === undefined ? 'not a bearer token' : 'unknown token';
  log.warn({ method: request.method, path, from: request.ip, why }, 'refused: not authenticated');
  metrics.refusedAtTheDoor('unauthenticated');
  throw new ProblemError(
    'unauthenticated',
    authorization === undefined ? 'send a token as Authorization: Bearer <token>' : 'the token is not valid',
  );
}
