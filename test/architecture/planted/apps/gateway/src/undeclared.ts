// breaks: no-undeclared-package
import * as it from 'fastify';
export const used = it;
