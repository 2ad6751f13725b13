import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import {
  createHttpServer,
  createNestLogger,
  OperationsController,
  operationsPorts,
  ProblemError,
  ProblemFilter,
  urlOf,
} from '@countersign/shell';
import type { OperationsPorts } from '@countersign/shell';
import type { Log } from '@countersign/runtime';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';

/** `/healthz`, `/readyz` and `/metrics` of a process, and nothing else. */
export interface OperationsApp {
  readonly url: string;
  readonly port: number;
  readonly close: () => Promise<void>;
}

/** Where it listens, and what the process is called where it says why there is nothing else. */
export interface OperationsAddress {
  readonly host: string;
  readonly port: number;
  /** What any other path is answered while this process is about to serve more: 503 with this text. Default: 404. */
  readonly starting?: string;
}

@Module({})
class OperationsModule {}

const paths = ['/healthz', '/readyz', '/metrics'];

/** Opens it; it answers from the first moment of the process to the last. @throws when the port cannot be had. */
export async function openOperationsApp(
  ports: OperationsPorts,
  log: Log,
  { host, port, starting }: OperationsAddress,
): Promise<OperationsApp> {
  const filter = new ProblemFilter(log);
  const { adapter, fastify } = createHttpServer({
    bodyBytesMax: 1024,
    filter,
    methodsOf: (path) => {
      if (paths.includes(path)) return ['GET'];
      if (starting !== undefined) throw new ProblemError('unavailable', starting);
      return undefined;
    },
  });
  const app = await NestFactory.create<NestFastifyApplication>(
    {
      module: OperationsModule,
      controllers: [OperationsController],
      providers: [{ provide: operationsPorts, useValue: ports }],
    },
    adapter,
    { bodyParser: false, logger: createNestLogger(log), abortOnError: false } as object,
  );
  app.useGlobalFilters(filter);
  await app.listen(port, host);
  const address = fastify.server.address() as AddressInfo;
  return {
    url: urlOf(host, address.port),
    port: address.port,
    close: async () => {
      // Whoever asked for the readiness and keeps the connection must not hold up the end.
      fastify.server.closeIdleConnections();
      await app.close();
    },
  };
}
