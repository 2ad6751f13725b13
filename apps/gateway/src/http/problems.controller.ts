import type { ErrorCode } from '@countersign/contracts';
import { ProblemError, problemWords, statusOf, titleOf } from '@countersign/shell';
import { Controller, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { routes } from '../routes.js';
import { Endpoint } from './endpoint.js';
import { paramOf } from './http-context.js';
import type { ApiRequest } from './http-context.js';

/** The addresses that the problems name as their type. */
@Controller()
export class ProblemsController {
  @Endpoint(routes.problem)
  get(@Req() request: ApiRequest, @Res() reply: FastifyReply): void {
    const code = paramOf(request, 'code');
    if (!isCode(code)) throw new ProblemError('not-found', `there is no code ${JSON.stringify(code)}`);
    const [cause, remedy] = problemWords[code];
    const page = { code, status: statusOf(code), title: titleOf(code), cause, remedy };
    void reply.header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(page));
  }
}

function isCode(code: string): code is ErrorCode {
  return Object.hasOwn(problemWords, code);
}
