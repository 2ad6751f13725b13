import { nodeSafety } from '@countersign/runtime';
import { Controller, Get, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { commit } from '../process/commit.js';
import { version } from '../process/version.js';
import { askReadiness } from './health.js';
import type { Readiness, ReadinessCheck } from './health.js';
import { sendProblem } from './problem-filter.js';

/** The dependencies of the operations routes. */
export interface OperationsPorts {
  readonly checks: readonly ReadinessCheck[];
  /** The figures in Prometheus' text format. */
  readonly metricsText: () => Promise<string>;
}

export const operationsPorts = Symbol('OperationsPorts');

/** The operator's routes: liveness, readiness, metrics. */
@Controller()
export class OperationsController {
  readonly #ports: OperationsPorts;
  readonly #health = JSON.stringify({ status: 'ok', version, commit, node: nodeSafety() });
  #asking: Promise<Readiness> | undefined;

  constructor(@Inject(operationsPorts) ports: OperationsPorts) {
    this.#ports = ports;
  }

  @Get('healthz')
  healthz(@Res() reply: FastifyReply): void {
    void reply.header('content-type', 'application/json').send(this.#health);
  }

  @Get('readyz')
  async readyz(@Res() reply: FastifyReply): Promise<void> {
    // Simultaneous requests share one round of checks, since a check may call another server.
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
