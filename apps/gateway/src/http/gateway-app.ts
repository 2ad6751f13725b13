import type { Refusal } from '@countersign/contracts';
import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import { SchemaEngineError, UnreadableStreamError } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import { limits } from '@countersign/contracts';
import { createLimitedLog } from '@countersign/runtime';
import {
  EventStoreDamagedError,
  EventStoreRewoundError,
  EventTooLargeError,
  isStoreOutage,
  KeysUnavailableError,
  OutcomeUnknownError,
} from '@countersign/event-store';
import type { NestApplicationOptions } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ProblemFilter, createHttpServer, createNestLogger, urlOf } from '@countersign/shell';
import type { HttpServer } from '@countersign/shell';
import { createGateway } from '../gateway.js';
import { addChannels } from '../channels/channel-routes.js';
import { addInbox } from '../inbox/add-inbox.js';
import type { InboxOptions } from '../inbox/add-inbox.js';
import type { GatewayPorts } from '../ports.js';
import { createMethodsOf } from '../route.js';
import { allRoutes } from '../routes.js';
import { createAdmission } from './admit.js';
import { formType, parseBody, parseForm } from './body.js';
import { answered, isGet } from './http-context.js';
import type { ApiRequest } from './http-context.js';
import { GatewayModule } from './gateway.module.js';
import { RolesGuard } from './roles.guard.js';
import { whenSeen } from './when-seen.js';

/** The address of the gateway. */
export interface GatewayAddress {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly inbox?: InboxOptions;
  /** The origins whose pages may call the API; default: none. */
  readonly corsOrigins?: readonly string[];
}

/** The API as a server. */
export interface GatewayApp {
  /** Its URL; valid after listening. */
  readonly url: string;
  /** Starts to accept requests. Returns the URL. */
  readonly listen: () => Promise<string>;
  /** Accepts nothing new, ends streams, lets requests in progress finish, and closes. */
  readonly close: () => Promise<void>;
}

/** How long requests in progress may take at shutdown. */
const finishMsMax = 10_000;

/**
 * The HTTP API over its ports. The caller owns the ports, and closes them after this.
 * @example
 * const app = await createGatewayApp(ports, { host: '127.0.0.1', port: 7400 });
 * await app.listen();
 */
export async function createGatewayApp(given: GatewayPorts, address: GatewayAddress): Promise<GatewayApp> {
  const ports = { ...given, log: createLimitedLog(given.log, given.clock) };
  const { host, port, inbox = {}, corsOrigins = [] } = address;
  const gateway = createGateway(ports);
  const filter = new ProblemFilter(ports.log, {
    known: (error) => knownError(ports, error),
    onAnswered: (request, status) => {
      const answeredRequest = request as ApiRequest;
      answered(ports, answeredRequest, status);
      // An outage is thrown, so no command has counted it.
      if (status === 503 && !isGet(request)) ports.metrics.commandEnded(answeredRequest.routeId, 'unavailable');
    },
  });
  const { caps } = gateway;
  const server = createHttpServer({
    bodyBytesMax: limits.bodyBytesMax,
    filter,
    methodsOf: createMethodsOf(allRoutes),
    rateHeaders: caps.uncountedHeaders,
    corsOrigins,
  });
  const { admit } = createAdmission(ports, { caps, host, publicUrl: inbox.publicUrl });
  readRequests(server, (request) => {
    const proved = (actor: Actor | undefined): Promise<void> | undefined => {
      // The guard requires an actor wherever it is missing.
      request.actor = actor;
      return whenSeen(ports, caps, request);
    };
    const actor = admit(request);
    return actor instanceof Promise ? actor.then(proved) : proved(actor);
  });
  const { tracing } = ports;
  // After the body was read: only from here on does the handler follow in the same asynchronous scope.
  if (tracing !== undefined) {
    server.fastify.addHook('preHandler', (_request, _reply, done) => {
      tracing.requestScope(done);
    });
  }
  await addInbox(server.fastify, ports, caps, inbox);
  if (ports.channels !== undefined) await addChannels(server.fastify, ports, ports.channels, inbox.publicUrl);
  const options: Pick<NestApplicationOptions, 'bodyParser' | 'logger' | 'abortOnError'> = {
    bodyParser: false,
    logger: createNestLogger(ports.log),
    abortOnError: false,
  };
  const app = await NestFactory.create<NestFastifyApplication>(
    GatewayModule.over({
      ports,
      gateway,
      publicUrl: inbox.publicUrl,
      isDraining: server.isDraining,
      hold: server.hold,
    }),
    server.adapter,
    options,
  );
  app.useGlobalGuards(new RolesGuard(ports));
  app.useGlobalFilters(filter);

  const urlNow = (): string => {
    const address = server.fastify.server.address() as AddressInfo | null;
    return urlOf(host, address?.port ?? port);
  };
  return {
    get url() {
      return urlNow();
    },
    listen: async () => {
      await app.listen(port, host);
      return urlNow();
    },
    close: async () => {
      server.drain();
      gateway.close();
      const cancelTimer = ports.clock.setTimer(finishMsMax, () => {
        server.fastify.server.closeAllConnections();
      });
      await app.close();
      cancelTimer();
    },
  };
}

/** Runs before the guard: `admit` proves the sender before a byte of the body is read. Then the body is read. */
function readRequests({ fastify }: HttpServer, admit: (request: ApiRequest) => Promise<void> | undefined): void {
  fastify.decorateRequest('actor', undefined);
  fastify.decorateRequest('bodyLength', 0);
  fastify.decorateRequest('startedAtMs', 0);
  fastify.decorateRequest('routeId', 'none');
  fastify.decorateRequest('endSpan', undefined);
  fastify.addHook('onRequest', (received, _reply, done) => {
    const request = received as ApiRequest;
    request.startedAtMs = performance.now();
    let admitting: Promise<void> | undefined;
    const failure = attempt(() => {
      admitting = admit(request);
    });
    if (admitting === undefined) done(failure);
    else admitting.then(() => done(), done);
  });
  fastify.addContentTypeParser('application/json', { parseAs: 'buffer' }, (received, bytes, done) => {
    const request = received as ApiRequest;
    let body: unknown;
    const failure = attempt(() => {
      request.bodyLength = bytes.length;
      body = parseBody(bytes as Buffer);
    });
    done(failure ?? null, body);
  });
  fastify.addContentTypeParser(formType, { parseAs: 'string' }, (received, text, done) => {
    const request = received as ApiRequest;
    let body: unknown;
    const failure = attempt(() => {
      request.bodyLength = text.length;
      body = parseForm(request, text as string);
    });
    done(failure ?? null, body);
  });
}

/** Runs a function that refuses by throwing. Returns what it threw. */
function attempt(fn: () => void): Error | undefined {
  try {
    fn();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Most errors of a store have addresses and paths in their text, which callers must not see. */
function detailOfOutage(error: Error): string {
  if (error instanceof KeysUnavailableError) return error.message;
  if (error instanceof OutcomeUnknownError) {
    return 'it is not known whether the command was recorded; repeating the request is safe';
  }
  return error instanceof EventStoreRewoundError
    ? 'the log of the event store was put back to an older state: nothing is written until an operator has looked at it'
    : 'the event store cannot be written at the moment; repeating the request is safe';
}

function knownError({ log }: GatewayPorts, error: unknown): Refusal | undefined {
  if (error instanceof UnreadableStreamError) return error.refusal;
  if (isStoreOutage(error)) {
    log.warn({ error }, 'the event store could not be written');
    return { code: 'unavailable', detail: detailOfOutage(error) };
  }
  if (error instanceof EventTooLargeError) return { code: 'payload-too-large', detail: error.message };
  if (error instanceof EventStoreDamagedError) {
    log.error({ error }, 'the event store is damaged');
    const where = error.position === undefined ? '' : ` at position ${String(error.position)}`;
    return { code: 'unavailable', detail: `the event store is damaged${where} and must be restored` };
  }
  if (error instanceof SchemaEngineError) {
    log.error({ error }, 'the check of a schema failed');
    return { code: 'unavailable', detail: 'the arguments could not be validated; nothing was recorded' };
  }
  return undefined;
}
