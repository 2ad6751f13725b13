import { Controller, Get, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { askReadiness } from './health.js';
import type { Readiness, ReadinessCheck } from './health.js';
import { sendProblem } from './problem-filter.js';

/** What the operations routes need. */
export interface OperationsPorts {
  readonly checks: readonly ReadinessCheck[];
  /** The figures in Prometheus' text format. */
  readonly metricsText: () => Promise<string>;
}

export const operationsPorts = Symbol('OperationsPorts');

/** For whoever runs the process: is it alive, is it ready, what is it doing. */
@Controller()
export class OperationsController {
  readonly #ports: OperationsPorts;
  #asking: Promise<Readiness> | undefined;

  constructor(@Inject(operationsPorts) ports: OperationsPorts) {
    this.#ports = ports;
  }

  @Get('healthz')
  healthz(@Res() reply: FastifyReply): void {
    void reply.header('content-type', 'application/json').send('{"status":"ok"}');
  }

  @Get('readyz')
  async readyz(@Res() reply: FastifyReply): Promise<void> {
    // Requests of the same moment share one round of checks: a check may ask another server.
    this.#asking ??= askReadiness(this.#ports.checks).finally(() => {
      this.#asking = undefined;
    });
    const { status, checks } = await this.#asking;
    if (status === 'ready') {
      void reply.header('content-type', 'application/json').send(JSON.stringify({ status, checks }));
      return;
    }
    const failing = Object.entries(checks).flatMap(([name, one]) =>
      one.status === 'ok' ? [] : [`${name}: ${one.why}`],
    );
    sendProblem(reply, { code: 'unavailable', detail: `not ready: ${failing.join('; ')}`, extra: { checks } });
  }

  @Get('metrics')
  async metrics(@Res() reply: FastifyReply): Promise<void> {
    const text = await this.#ports.metricsText();
    void reply.header('content-type', 'text/plain; version=0.0.4; charset=utf-8').send(text);
  }
}
