import { openSurfaces } from '@countersign/channels';
import type { ChannelsConfig, Surface } from '@countersign/channels';
import type { FastifyInstance } from 'fastify';
import type { GatewayPorts } from '../ports.js';
import { createResponsePort } from './response-port.js';
import { createIsApprover } from './approvers.js';
import { observeChannels } from './channel-metrics.js';
import { addMailRoutes } from './mail-routes.js';

/** A press is a few kilobytes; a modal with edited arguments some more. */
const bodyBytesMax = 256 * 1024;

/**
 * The routes that receive responses: `POST /channels/<id>/slack`, `POST /channels/<id>/telegram`,
 * `POST /channels/<id>/teams`, and the pages of
 * links in emails. The notifier polls the other channels. Each route verifies the sender itself and needs no API token.
 */
export async function addChannels(
  fastify: FastifyInstance,
  ports: GatewayPorts,
  config: ChannelsConfig,
  publicUrl: URL | undefined,
): Promise<void> {
  const { clock, log } = ports;
  const { people = () => config.people } = ports;
  const isApprover = createIsApprover(ports, { people: people(), log });
  const responses = createResponsePort({ ...ports, isApprover });
  const surfaces = await openSurfaces(config.channels, {
    ...{ responses, people, clock, log },
    publicUrl: publicUrl?.href ?? null,
    botFrameworkAuth: async (bot) => {
      // Only a channel of Teams needs it.
      const { createBotFrameworkAuth } = await import('./bot-framework-auth.js');
      return createBotFrameworkAuth(bot, clock);
    },
  });
  await fastify.register((scope, _options, done) => {
    // A signature covers the raw bytes, so nothing parses them first.
    const types = ['application/json', 'application/x-www-form-urlencoded'];
    scope.removeContentTypeParser(types);
    scope.addContentTypeParser(types, { parseAs: 'buffer', bodyLimit: bodyBytesMax }, (_request, body, parsed) => {
      parsed(null, body);
    });
    for (const surface of surfaces) addSurface(scope, ports, surface);
    done();
  });
  addMailRoutes(fastify, { ...ports, people }, config, publicUrl);
  fastify.addHook('onClose', observeChannels(ports, config.channels, config.broken));
}

function addSurface(scope: FastifyInstance, { log }: GatewayPorts, surface: Surface): void {
  const { channelId, type } = surface;
  scope.post(`/channels/${channelId}/${type}`, async (request, reply) => {
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const response = await surface.receive({ body, headers: request.headers });
    response.done.catch((error: unknown) => log.error({ error, channelId }, 'background work of a channel failed'));
    if (response.body === undefined) return reply.code(response.status).send();
    const text = JSON.stringify(response.body);
    return reply.code(response.status).header('content-type', 'application/json; charset=utf-8').send(text);
  });
}
