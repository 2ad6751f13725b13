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

/** The address, and the process's name in the text of a 404. */
export interface OperationsAddress {
  readonly host: string;
  readonly port: number;
  /** The text of the 503 for any other path while the role is still starting. Default: 404. */
  readonly starting?: string;
}

@Module({})
class OperationsModule {}

const paths = ['/healthz', '/readyz', '/metrics'];

/** Opens the port, which stays open until the process ends. @throws when the port is in use. */
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
      // An idle keep-alive connection must not delay the shutdown.
      fastify.server.closeIdleConnections();
      await app.close();
    },
  };
}
