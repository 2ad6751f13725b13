import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import fastifyStatic from '@fastify/static';
import { ProblemError } from '@countersign/shell';
import type { FastifyInstance, FastifyReply } from 'fastify';

/** The pages of the inbox: one document, whose script reads the path. */
export const inboxPages = [
  '/',
  '/approvals/:approvalId',
  '/runs/:runId',
  '/calls/:callId',
  '/history',
  '/insights',
  '/oversight',
  '/unknown',
  '/grants',
  '/passkeys',
  '/policy',
  '/policy/:callId',
  '/audit',
  '/audit/state',
] as const;

/**
 * The page runs only our scripts, connects only to its own origin, cannot be framed unless the operator names the origin, and
 * never evaluates text: an agent's arguments stay text.
 */
export const inboxPolicy = policyOf(["'none'"]);

function policyOf(ancestors: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    `frame-ancestors ${ancestors.join(' ')}`,
    "base-uri 'none'",
    "form-action 'self'",
  ].join('; ');
}

const pageHeaders = {
  'content-security-policy': inboxPolicy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'referrer-policy': 'no-referrer',
  vary: 'accept-encoding',
} as const;

/** A plain file name with the hash of the build: it cannot leave the folder, and its content never changes. */
const assetName = /^[\w-]+\.(?:js|css)$/;
const aYear = 'public, max-age=31536000, immutable';

/** The folder into which `npm run build` writes the inbox. */
export function builtInboxFolder(): string {
  return join(dirname(createRequire(import.meta.url).resolve('@countersign/inbox/package.json')), 'dist');
}

/**
 * Serves the built inbox, which pages of these origins may frame. Without a build the pages explain how to build it, and the API works.
 */
export async function addInboxFiles(
  fastify: FastifyInstance,
  folder: string,
  frameAncestors: readonly string[] = [],
): Promise<void> {
  const policy = frameAncestors.length === 0 ? inboxPolicy : policyOf(frameAncestors);
  if (!existsSync(join(folder, 'index.html'))) {
    for (const page of inboxPages) fastify.get(page, (_, reply) => notBuilt(reply));
    return;
  }
  await fastify.register(fastifyStatic, { root: folder, serve: false, preCompressed: true, cacheControl: false });
  const send = (reply: FastifyReply, file: string, cacheControl: string) =>
    reply.headers({ ...pageHeaders, 'content-security-policy': policy, 'cache-control': cacheControl }).sendFile(file);
  for (const page of inboxPages) fastify.get(page, (_, reply) => send(reply, 'index.html', 'no-cache'));
  fastify.get('/favicon.svg', (_, reply) => send(reply, 'favicon.svg', 'no-cache'));
  fastify.get('/assets/:file', (request, reply) => {
    const { file } = request.params as { readonly file: string };
    if (!assetName.test(file) || !existsSync(join(folder, 'assets', file)))
      throw new ProblemError('not-found', 'this path does not exist');
    return send(reply, `assets/${file}`, aYear);
  });
}

const notBuiltPage = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Countersign</title>
<h1>The inbox is not built</h1>
<p>Run <code>npm run build</code> and start again. The API and <code>npx countersign inbox</code> work as they are.</p>
</html>
`;

function notBuilt(reply: FastifyReply): FastifyReply {
  return reply.code(404).headers(pageHeaders).header('content-type', 'text/html; charset=utf-8').send(notBuiltPage);
}
