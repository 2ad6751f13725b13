import type { FastifyInstance } from 'fastify';
import type { Caps } from '../limits/caps.js';
import type { GatewayPorts } from '../ports.js';
import { addInboxFiles, builtInboxFolder } from './inbox-files.js';
import { addOidcRoutes } from './oidc-routes.js';
import { addSessionRoutes } from './session-routes.js';

/** The settings of the inbox. */
export interface InboxOptions {
  /** The folder of the built inbox. Default: the output of `npm run build`. */
  readonly folder?: string;
  /** The public URL of the gateway behind a proxy. */
  readonly publicUrl?: URL | undefined;
  /** The origins whose pages may show the inbox in a frame. Default: none. */
  readonly frameAncestors?: readonly string[] | undefined;
}

/** The web inbox on the gateway's server: its files, and the sessions of signed-in people. */
export async function addInbox(
  fastify: FastifyInstance,
  ports: GatewayPorts,
  { countStranger }: Pick<Caps, 'countStranger'>,
  options: InboxOptions,
): Promise<void> {
  const { sessions, oidc } = ports;
  const { folder = builtInboxFolder(), publicUrl, frameAncestors } = options;
  await addInboxFiles(fastify, folder, frameAncestors);
  if (sessions === undefined) return;
  addSessionRoutes(fastify, { ...ports, countStranger, sessions }, { publicUrl });
  if (oidc !== undefined) addOidcRoutes(fastify, { ...ports, sessions, oidc }, { publicUrl });
}
